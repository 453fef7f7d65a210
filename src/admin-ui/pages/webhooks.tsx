import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { atLeast } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { rowsKnown } from '../lib/queries.ts';
import { isSecretUnstored, outcomesInTime, successOf, type Health } from '../lib/success.ts';
import { outcomes } from '../ui/spark-values.ts';
import { Spark } from '../ui/spark.tsx';
import { Badge, Empty, Loaded, PageHead, Summary } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { Wrappable } from '../ui/wrappable.tsx';
import { hasTwin, nameOfEndpoint, type Endpoint } from './endpoint-name.ts';
import { nameOfEvent } from './event-types.ts';

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
  const health = useQuery(api.admin.deliveries.health.queryOptions({}));
  const healthOf = new Map(rowsKnown(health).map((one) => [one.endpoint_id, one]));
  const columns: Column<Endpoint>[] = [
    {
      label: t.webhooks.url,
      kind: 'main',
      cell: (endpoint) => (
        <>
          <Link to="/webhooks/$endpointId" params={{ endpointId: endpoint.id }} className="name">
            <Wrappable text={nameOfEndpoint(endpoint)} />
          </Link>
          <code className="sub">
            <Wrappable text={endpoint.url} />
          </code>
        </>
      ),
    },
    {
      label: t.webhooks.state,
      cell: (endpoint) => (
        <>
          <EndpointState status={endpoint.status} />
          {isSecretUnstored(healthOf.get(endpoint.id)) && (
            <small className="sub">{t.webhooks.unstored}</small>
          )}
          {hasTwin(endpoint, endpoints) && <small className="sub">{t.webhooks.twin}</small>}
        </>
      ),
    },
    {
      label: t.webhooks.events,
      cell: (endpoint) => (
        <details className="scopes">
          <Summary of={nameOfEndpoint(endpoint)}>
            {t.webhooks.countEvents(endpoint.events.length)}
          </Summary>
          <ul>
            {endpoint.events.map((event) => (
              <li key={event}>{nameOfEvent(t, event)}</li>
            ))}
          </ul>
        </details>
      ),
    },
    {
      label: t.webhooks.success,
      cell: (endpoint) => (
        <SuccessRate of={nameOfEndpoint(endpoint)} health={healthOf.get(endpoint.id)} />
      ),
    },
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

/** How many of the endpoint's last deliveries have arrived, how fast, and what still waits. */
function SuccessRate({ of, health }: { readonly of: string; readonly health: Health | undefined }) {
  const t = useTexts();
  const format = useFormat();
  if (health === undefined) return <span className="soft">…</span>;
  const { endpoint_id, arrived, median_ms: ms, waiting, has_more } = health;
  const success = successOf(arrived);
  return (
    <>
      {success === null ? (
        <span className="soft">–</span>
      ) : (
        <>
          <Link to="/deliveries" search={{ endpoint: endpoint_id }} className="keep">
            {format.percent(success)} <small>{t.webhooks.ofLast(arrived.length)}</small>
            <span className="visually-hidden">: {of}</span>
          </Link>
          <Spark bars={outcomes(outcomesInTime(arrived))} />
        </>
      )}
      {ms !== null && <small className="sub keep">{t.webhooks.answersIn(format.number(ms))}</small>}
      {waiting > 0 && (
        <small className="sub">
          {t.webhooks.waiting(atLeast(waiting, has_more.includes('waiting'), t, format))}
        </small>
      )}
    </>
  );
}

export function EndpointState({ status }: { readonly status: string }) {
  const t = useTexts();
  const tone = status === 'active' ? 'good' : status === 'disabled' ? 'plain' : 'bad';
  return <Badge tone={tone}>{t.webhooks.states[status] ?? status}</Badge>;
}
