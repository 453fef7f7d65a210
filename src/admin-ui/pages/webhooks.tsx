import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Badge, Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { nameOfEndpoint, type Endpoint } from './endpoint-name.ts';
import { nameOfEvent } from './event-types.ts';

/** Of how many deliveries the success rate of an endpoint is made. */
export const RECENT = 100;

/** The team's webhook endpoints. */
export function WebhooksPage() {
  const t = useTexts();
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const create = (
    <Link to="/webhooks/new" className="button main">
      {t.webhooks.create}
    </Link>
  );
  return (
    <>
      <PageHead title={t.webhooks.title} intro={t.webhooks.intro}>
        {create}
      </PageHead>
      <Loaded query={endpoints}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t.webhooks.empty} hint={t.webhooks.emptyHint} />
          ) : (
            <EndpointTable endpoints={data} />
          )
        }
      </Loaded>
    </>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<Endpoint>[] = [
    {
      label: t.webhooks.url,
      kind: 'main',
      cell: (endpoint) => (
        <>
          <Link to="/webhooks/$endpointId" params={{ endpointId: endpoint.id }} className="name">
            {nameOfEndpoint(endpoint)}
          </Link>
          <code className="sub">{endpoint.url}</code>
        </>
      ),
    },
    { label: t.webhooks.state, cell: ({ status }) => <EndpointState status={status} /> },
    {
      label: t.webhooks.events,
      cell: ({ events }) => (
        <details className="scopes">
          <summary>{t.webhooks.countEvents(events.length)}</summary>
          <ul>
            {events.map((event) => (
              <li key={event}>{nameOfEvent(t, event)}</li>
            ))}
          </ul>
        </details>
      ),
    },
    { label: t.webhooks.success, cell: ({ id }) => <SuccessRate endpointId={id} /> },
    {
      label: t.webhooks.lastSuccess,
      cell: ({ last_success_at: at }) =>
        at === null ? (
          <span className="soft">{t.common.never}</span>
        ) : (
          <time dateTime={at} title={format.moment(at)}>
            {format.ago(at)}
          </time>
        ),
    },
  ];
  return (
    <Table caption={t.webhooks.title} columns={columns} rows={endpoints} keyOf={({ id }) => id} />
  );
}

/** How many of the endpoint's last deliveries have arrived. */
function SuccessRate({ endpointId }: { readonly endpointId: string }) {
  const t = useTexts();
  const format = useFormat();
  const recent = useQuery(
    api.admin.deliveries.list.queryOptions({ endpoint_id: endpointId, limit: RECENT }),
  );
  const { ok, tried } = countOutcomes(recent.data?.data ?? []);
  if (tried === 0) return <span className="soft">–</span>;
  return (
    <Link to="/deliveries" search={{ endpoint: endpointId }}>
      {format.percent(ok / tried)} <small>{t.webhooks.ofLast(tried)}</small>
    </Link>
  );
}

/** How many deliveries were tried, and how many of these arrived. */
export function countOutcomes(deliveries: readonly { readonly status: string }[]): {
  ok: number;
  tried: number;
} {
  const tried = deliveries.filter(({ status }) => status !== 'pending');
  return { ok: tried.filter(({ status }) => status === 'ok').length, tried: tried.length };
}

export function EndpointState({ status }: { readonly status: string }) {
  const t = useTexts();
  const tone = status === 'active' ? 'good' : status === 'disabled' ? 'plain' : 'bad';
  return <Badge tone={tone}>{t.webhooks.states[status] ?? status}</Badge>;
}
