import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { rowsKnown } from '../lib/queries.ts';
import { Button } from '../ui/button.tsx';
import { Crumbs } from '../ui/crumbs.tsx';
import { CodeBlock } from '../ui/code.tsx';
import { FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { isMissing, Missing } from '../ui/not-found.tsx';
import { Loaded, PageHead } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { explanationOf, hasFailed, isHeld, looksAgainMs } from './delivery-outcome.ts';
import { DeliveryState } from './delivery-table.tsx';
import { nameOfEvent } from './event-types.ts';
import { isPaused } from './resend-choice.ts';

type Detail = RouterOutputs['admin']['deliveries']['get'];

const route = getRouteApi('/deliveries/$deliveryId');
const ENDPOINTS = api.v1.webhooks.listEndpoints.queryOptions({});

/** One delivery with its attempts. */
export function DeliveryPage() {
  const { deliveryId } = route.useParams();
  // What became of another try belongs to one delivery.
  return <DeliveryOf key={deliveryId} deliveryId={deliveryId} />;
}

function DeliveryOf({ deliveryId }: { readonly deliveryId: string }) {
  const cache = useQueryClient();
  const t = useTexts();
  const retry = useMutation(
    api.v1.webhooks.retryDelivery.mutationOptions({
      onSuccess: async () => {
        announce(t.deliveries.retried);
        await cache.invalidateQueries(api.admin.deliveries.pathFilter());
      },
    }),
  );
  const delivery = useQuery({
    ...api.admin.deliveries.get.queryOptions({ delivery_id: deliveryId }),
    refetchInterval: ({ state }) => looksAgainMs(state.data, retry.submittedAt),
    // None comes back, and to look for it takes the page away meanwhile, with the reader's place.
    refetchOnWindowFocus: ({ state }) => (isMissing(state.error) ? false : 'always'),
  });
  // Asked for at once: what is said of a delivery depends on its endpoint.
  const endpoints = useQuery(ENDPOINTS);
  if (isMissing(delivery.error))
    return (
      <>
        <Crumbs to="/deliveries">{t.deliveries.title}</Crumbs>
        <Missing
          title={t.deliveries.missing}
          id={deliveryId}
          hint={t.deliveries.missingHint}
          error={delivery.error}
        >
          <Link to="/deliveries">{t.deliveries.toList}</Link>
        </Missing>
      </>
    );
  return (
    <>
      <Crumbs to="/deliveries">{t.deliveries.title}</Crumbs>
      <Loaded query={delivery} heading={t.finder.delivery} isWaiting={endpoints.isPending}>
        {(data) => (
          <>
            <PageHead
              title={t.deliveries.one(nameOfEvent(t, data.event_type ?? data.id))}
              intro={<code>{data.id}</code>}
            >
              <Button
                look="main"
                busy={retry.isPending}
                why={hasFailed(data.status) ? null : t.deliveries.retryWhyNot}
                onClick={() => retry.mutate({ delivery_id: data.id })}
              >
                {t.deliveries.retry}
              </Button>
            </PageHead>
            <FormProblem error={retry.error} />
            <DeliveryView delivery={data} />
          </>
        )}
      </Loaded>
    </>
  );
}

function DeliveryView({ delivery }: { readonly delivery: Detail }) {
  const t = useTexts();
  const format = useFormat();
  const { what, todo } = explanationOf(t, delivery);
  const { request, response_excerpt: excerpt, next_try_at: next } = delivery;
  const endpoint = useEndpointOf(delivery);
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <>
      <div className="facts">
        <p>
          <DeliveryState status={delivery.status} /> {what}
        </p>
        {todo !== null && (
          <p>
            <strong>{t.deliveries.whatToDo}:</strong> {todo}
          </p>
        )}
        {isHeld(delivery, endpoint) ? (
          <p className="hint">{t.deliveries.held}</p>
        ) : (
          next !== null &&
          delivery.status === 'retrying' && (
            <p className="hint">{t.deliveries.next(format.moment(next))}</p>
          )
        )}
        {isPaused(endpoint) && hasFailed(delivery.status) && (
          <p className="hint">{t.deliveries.retryPaused}</p>
        )}
        <p className="hint">
          {t.deliveries.endpoint}:{' '}
          <Link to="/webhooks/$endpointId" params={{ endpointId: delivery.endpoint_id }}>
            {request.url}
          </Link>
        </p>
      </div>
      <section className="section">
        <h2>{t.deliveries.attempts}</h2>
        {delivery.attempts.length === 0 ? (
          <p className="soft">{t.deliveries.noAnswerYet}</p>
        ) : (
          <Attempts attempts={delivery.attempts} />
        )}
      </section>
      {excerpt !== null && (
        <section className="section">
          <h2>{t.deliveries.response}</h2>
          {excerpt === '' ? (
            <p className="soft">{t.deliveries.emptyResponse}</p>
          ) : (
            <CodeBlock label={t.deliveries.response} text={excerpt} />
          )}
        </section>
      )}
      <section className="section">
        <h2>{t.deliveries.request}</h2>
        <h3>{t.deliveries.headers}</h3>
        <CodeBlock
          label={t.deliveries.headers}
          text={`${request.method} ${request.url}\n${headers.join('\n')}`}
        />
        <h3>{t.deliveries.body}</h3>
        {request.body === null ? (
          <p className="notice">
            {t.common.withheld} <Link to="/privacy">{t.members.hiddenWhere}</Link>
          </p>
        ) : (
          <CodeBlock label={t.deliveries.body} text={indent(request.body)} />
        )}
      </section>
    </>
  );
}

/** The endpoint of a delivery, if it is known. */
function useEndpointOf({ endpoint_id }: Detail) {
  const endpoints = useQuery(ENDPOINTS);
  return rowsKnown(endpoints).find(({ id }) => id === endpoint_id);
}

function Attempts({ attempts }: { readonly attempts: Detail['attempts'] }) {
  const t = useTexts();
  const format = useFormat();
  return (
    <Table
      caption={t.deliveries.attempts}
      rows={attempts}
      keyOf={({ attempt }) => String(attempt)}
      columns={[
        {
          label: t.deliveries.attempt,
          kind: 'main',
          cell: ({ attempt }) => `${t.deliveries.attempt} ${attempt}`,
        },
        { label: t.deliveries.at, cell: ({ ended_at }) => format.moment(ended_at) },
        {
          label: t.deliveries.result,
          cell: ({ response_code: code, error }) =>
            code === null
              ? explanationOf(t, { status: 'retrying', response_code: code, error }).what
              : t.deliveries.answered(code),
        },
        {
          label: t.deliveries.took,
          kind: 'number',
          cell: ({ response_ms: ms }) => ms !== null && t.deliveries.ms(format.number(ms)),
        },
      ]}
    />
  );
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
