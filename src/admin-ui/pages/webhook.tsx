import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { rowsKnown, whileUnknown } from '../lib/queries.ts';
import { isSecretUnstored } from '../lib/success.ts';
import { useTask } from '../lib/task.ts';
import { Button } from '../ui/button.tsx';
import { Bars } from '../ui/chart.tsx';
import { Crumbs } from '../ui/crumbs.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Missing } from '../ui/not-found.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import type { Delivery } from './delivery-outcome.ts';
import { DeliveryTable } from './delivery-table.tsx';
import { RotateSecret } from './rotate-secret.tsx';
import { nameOfEndpoint, type Endpoint } from './endpoint-name.ts';
import { useStatusChange } from './endpoint-status.ts';
import { EndpointState } from './webhooks.tsx';
import { answerBars, backlogBars, recentOf } from './webhook-figures.ts';
import { WebhookSettings } from './webhook-settings.tsx';
import { WebhookTest } from './webhook-test.tsx';

const route = getRouteApi('/webhooks/$endpointId');
/** How many deliveries are drawn. */
const RECENT = 100;

const lastOf = (endpointId: string) =>
  api.admin.deliveries.list.queryOptions({ endpoint_id: endpointId, limit: RECENT });

const HEALTH = api.admin.deliveries.health.queryOptions({});

const backlogOf = (endpointId: string) =>
  api.admin.deliveries.backlog.queryOptions({ endpoint_id: endpointId });

/** One webhook endpoint. */
export function WebhookPage() {
  const { endpointId } = route.useParams();
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  // All are asked for at once, and nothing moves when the last one arrives.
  const recent = useQuery(lastOf(endpointId));
  const backlog = useQuery(backlogOf(endpointId));
  const health = useQuery(HEALTH);
  const isWaiting = recent.isPending || backlog.isPending || health.isPending;
  const t = useTexts();
  return (
    <>
      <Crumbs to="/webhooks">{t.webhooks.title}</Crumbs>
      <Loaded query={endpoints} heading={t.finder.webhook} isWaiting={isWaiting}>
        {({ data }) => {
          const endpoint = data.find(({ id }) => id === endpointId);
          return endpoint ? (
            <EndpointView key={endpointId} endpoint={endpoint} />
          ) : (
            <Missing
              title={t.webhooks.missing}
              id={endpointId}
              hint={t.webhooks.missingHint}
              error={null}
            >
              <Link to="/webhooks">{t.limits.toEndpoints}</Link>
            </Missing>
          );
        }}
      </Loaded>
    </>
  );
}

function EndpointView({ endpoint }: { readonly endpoint: Endpoint }) {
  const t = useTexts();
  const format = useFormat();
  const { task, begin, close } = useTask<'pause' | 'rotate' | 'remove'>();
  const { id, url, status } = endpoint;
  const isActive = status === 'active';
  const health = useQuery(HEALTH);
  const isUnstored = isSecretUnstored(rowsKnown(health).find((one) => one.endpoint_id === id));
  const change = useStatusChange();
  return (
    <>
      <PageHead title={nameOfEndpoint(endpoint)} intro={<code>{url}</code>}>
        {isActive ? (
          <Button onClick={() => begin('pause')}>{t.webhooks.pause}</Button>
        ) : (
          <Button
            look="main"
            busy={change.isPending}
            onClick={() => change.mutate({ endpoint_id: id, status: 'active' })}
          >
            {t.webhooks.reactivate}
          </Button>
        )}
      </PageHead>
      {task !== 'pause' && <FormProblem error={change.error} />}
      <p className="after-head">
        <EndpointState status={status} />
      </p>
      {!isActive && (
        <p className={status === 'disabled' ? 'notice' : 'notice bad'}>
          {status !== 'disabled' && t.webhooks.failuresHint} {t.webhooks.pausedHint}
        </p>
      )}
      {endpoint.earlier_secrets_until && (
        <p className="notice">
          {t.webhooks.bothUntil(format.moment(endpoint.earlier_secrets_until))}
        </p>
      )}
      {isUnstored && (
        <div className="notice warn">
          <p>{t.webhooks.unstoredHint}</p>
          <Button onClick={() => begin('rotate')}>{t.webhooks.replaceUnstored}</Button>
        </div>
      )}
      <WebhookTest endpointId={id} />
      <Backlog endpointId={id} isHeld={!isActive} />
      <Recent endpoint={endpoint} />
      <WebhookSettings endpoint={endpoint}>
        <Button onClick={() => begin('rotate')}>{t.webhooks.rotate}</Button>
      </WebhookSettings>
      <section className="section danger-zone">
        <h2>{t.webhooks.danger}</h2>
        <p>{t.webhooks.removeHint}</p>
        <Button look="danger" onClick={() => begin('remove')}>
          {t.webhooks.remove}
        </Button>
      </section>
      {task === 'pause' && <PauseEndpoint endpointId={id} change={change} onClose={close} />}
      {task === 'rotate' && (
        <RotateSecret endpoint={endpoint} isUnstored={isUnstored} onClose={close} />
      )}
      {task === 'remove' && <RemoveEndpoint endpoint={endpoint} onClose={close} />}
    </>
  );
}

function PauseEndpoint({
  endpointId,
  change,
  onClose,
}: {
  readonly endpointId: string;
  readonly change: ReturnType<typeof useStatusChange>;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  return (
    <Confirm
      title={t.webhooks.pauseTitle}
      hint={t.webhooks.pausedHint}
      action={t.webhooks.pause}
      look="main"
      mutation={change}
      onConfirm={() =>
        change.mutate({ endpoint_id: endpointId, status: 'disabled' }, { onSuccess: onClose })
      }
      onClose={() => {
        change.reset();
        onClose();
      }}
    />
  );
}

/** What waits at the endpoint, if anything does. */
function Backlog({
  endpointId,
  isHeld,
}: {
  readonly endpointId: string;
  /** Nothing has a time: it waits until the endpoint is active. */
  readonly isHeld: boolean;
}) {
  const t = useTexts();
  const format = useFormat();
  const backlog = useQuery(backlogOf(endpointId));
  const known = whileUnknown(backlog, null);
  const waiting = known && backlogBars(known, t, format);
  if (waiting === null) return null;
  if (isHeld)
    return (
      <p className="section">
        {t.webhooks.waiting(waiting.total)}. {t.deliveries.held}.
      </p>
    );
  return (
    <section className="section">
      <h2>{t.webhooks.backlog}</h2>
      <div className="card">
        <Bars
          label={t.webhooks.backlog}
          hint={t.webhooks.waiting(waiting.total)}
          bars={waiting.bars}
          table={{
            of: t.webhooks.backlogWhen,
            columns: [{ label: t.deliveries.title, kind: 'number' }],
          }}
        />
      </div>
    </section>
  );
}

function Recent({ endpoint }: { readonly endpoint: Endpoint }) {
  const t = useTexts();
  const format = useFormat();
  const { id } = endpoint;
  const recent = useQuery(lastOf(id));
  return (
    <section className="section">
      <h2>{t.webhooks.recent}</h2>
      <Loaded query={recent} rows={3}>
        {({ data }) => {
          const { tried, arrived, shown } = recentOf(data);
          if (data.length === 0) return <Empty title={t.deliveries.empty} />;
          return (
            <>
              {tried.length > 0 && (
                <div className="card">
                  <DeliveryChart
                    tried={tried}
                    hint={t.webhooks.rate(format.number(arrived), format.number(tried.length))}
                  />
                </div>
              )}
              <DeliveryTable deliveries={shown} endpoints={[endpoint]} isOfOne />
              <p className="after">
                <Link to="/deliveries" search={{ endpoint: id }}>
                  {t.webhooks.allDeliveries}
                </Link>
              </p>
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

/** How long the receiver took to answer each delivery. One without an answer is a stub. */
function DeliveryChart({
  tried,
  hint,
}: {
  readonly tried: readonly Delivery[];
  readonly hint: string;
}) {
  const t = useTexts();
  const format = useFormat();
  return (
    <Bars
      label={t.webhooks.chart}
      hint={hint}
      legend={[
        { tone: 'main', text: t.deliveries.states['ok'] ?? '' },
        { tone: 'bad', text: t.webhooks.chartFailed },
      ]}
      scale={(value) => t.deliveries.ms(format.number(value))}
      bars={answerBars(tried, t, format)}
      table={{
        of: t.deliveries.created,
        columns: [{ label: t.deliveries.took, kind: 'number' }, { label: t.deliveries.result }],
      }}
    />
  );
}

function RemoveEndpoint({
  endpoint,
  onClose,
}: {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation(
    api.v1.webhooks.removeEndpoint.mutationOptions({
      onSuccess: async () => {
        announce(t.webhooks.removed);
        await navigate({ to: '/webhooks' });
        await Promise.all([
          cache.invalidateQueries(api.v1.webhooks.pathFilter()),
          // Its deliveries went with it.
          cache.invalidateQueries(api.admin.deliveries.pathFilter()),
        ]);
      },
    }),
  );
  return (
    <Confirm
      title={t.webhooks.removeTitle}
      hint={t.webhooks.removeHint}
      action={t.webhooks.remove}
      mutation={remove}
      onConfirm={() => remove.mutate({ endpoint_id: endpoint.id })}
      onClose={onClose}
    >
      <p>
        <code>{endpoint.url}</code>
      </p>
    </Confirm>
  );
}
