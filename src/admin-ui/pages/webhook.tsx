import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { atLeast, type Format } from '../i18n/formats.ts';
import type { Texts } from '../i18n/en.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterInputs, type RouterOutputs } from '../lib/api.ts';
import { isSecretUnstored } from '../lib/success.ts';
import { optimistic } from '../lib/optimistic.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Bars, type Bar } from '../ui/chart.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { NotFound } from '../ui/not-found.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { DeliveryTable, useExplanation, type Delivery } from './delivery-table.tsx';
import { RotateSecret } from './rotate-secret.tsx';
import { nameOfEndpoint, type Endpoint } from './endpoint-name.ts';
import { EndpointLinks } from './links.tsx';
import { EndpointState } from './webhooks.tsx';
import { WebhookSettings } from './webhook-settings.tsx';
import { WebhookTest } from './webhook-test.tsx';

type EndpointList = RouterOutputs['v1']['webhooks']['listEndpoints'];
type Change = RouterInputs['v1']['webhooks']['updateEndpoint'];

const route = getRouteApi('/webhooks/$endpointId');
/** How many deliveries are drawn, and how many of them are in the table. */
const RECENT = 100;
const SHOWN = 5;

const recentOf = (endpointId: string) =>
  api.admin.deliveries.list.queryOptions({ endpoint_id: endpointId, limit: RECENT });

const HEALTH = api.admin.deliveries.health.queryOptions({});

const backlogOf = (endpointId: string) =>
  api.admin.deliveries.backlog.queryOptions({ endpoint_id: endpointId });

/** One webhook endpoint. */
export function WebhookPage() {
  const { endpointId } = route.useParams();
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  // All are asked for at once, and nothing moves when the last one arrives.
  const recent = useQuery(recentOf(endpointId));
  const backlog = useQuery(backlogOf(endpointId));
  const health = useQuery(HEALTH);
  const isWaiting = recent.isPending || backlog.isPending || health.isPending;
  return (
    <Loaded query={endpoints} isWaiting={isWaiting}>
      {({ data }) => {
        const endpoint = data.find(({ id }) => id === endpointId);
        return endpoint ? <EndpointView key={endpointId} endpoint={endpoint} /> : <NotFound />;
      }}
    </Loaded>
  );
}

function EndpointView({ endpoint }: { readonly endpoint: Endpoint }) {
  const t = useTexts();
  const format = useFormat();
  const [isRemoving, setRemoving] = useState(false);
  const [isRotating, setRotating] = useState(false);
  const { id, url, status } = endpoint;
  const isActive = status === 'active';
  const health = useQuery(HEALTH);
  const isUnstored = isSecretUnstored(health.data?.data.find((one) => one.endpoint_id === id));
  const change = useMutation(
    api.v1.webhooks.updateEndpoint.mutationOptions({
      ...optimistic(
        api.v1.webhooks.listEndpoints.queryKey({}),
        (list: EndpointList, { status: next }: Change) => ({
          ...list,
          data: list.data.map((one) => (one.id === id && next ? { ...one, status: next } : one)),
        }),
        () => announce(t.common.undone),
      ),
      onSuccess: (_saved, input) =>
        announce(input.status === 'active' ? t.webhooks.reactivated : t.webhooks.paused),
    }),
  );
  return (
    <>
      <PageHead title={nameOfEndpoint(endpoint)} intro={<code>{url}</code>}>
        <Button
          look={isActive ? 'plain' : 'main'}
          busy={change.isPending}
          onClick={() =>
            change.mutate({ endpoint_id: id, status: isActive ? 'disabled' : 'active' })
          }
        >
          {isActive ? t.webhooks.pause : t.webhooks.reactivate}
        </Button>
      </PageHead>
      <FormProblem error={change.error} />
      <p className="after-head">
        <EndpointState status={status} />
      </p>
      {!isActive && (
        <p className={status === 'disabled' ? 'notice' : 'notice bad'}>
          {status === 'disabled' ? t.webhooks.pausedHint : t.webhooks.failuresHint}
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
          <Button onClick={() => setRotating(true)}>{t.webhooks.replaceUnstored}</Button>
        </div>
      )}
      <WebhookTest endpointId={id} />
      <Backlog endpointId={id} />
      <Recent endpoint={endpoint} />
      <WebhookSettings endpoint={endpoint}>
        <Button onClick={() => setRotating(true)}>{t.webhooks.rotate}</Button>
        <Button look="danger" onClick={() => setRemoving(true)}>
          {t.webhooks.remove}
        </Button>
      </WebhookSettings>
      <EndpointLinks endpointId={id} />
      {isRotating && (
        <RotateSecret
          endpoint={endpoint}
          isUnstored={isUnstored}
          onClose={() => setRotating(false)}
        />
      )}
      {isRemoving && <RemoveEndpoint endpoint={endpoint} onClose={() => setRemoving(false)} />}
    </>
  );
}

/** What waits at the endpoint, if anything does. */
function Backlog({ endpointId }: { readonly endpointId: string }) {
  const t = useTexts();
  const format = useFormat();
  const backlog = useQuery(backlogOf(endpointId));
  if (!backlog.data) return null;
  const { first, again, has_more } = backlog.data;
  const total = again.reduce((sum, { count }) => sum + count, first);
  if (total === 0) return null;
  const groups = [
    { when: t.webhooks.backlogFirst, count: first, tone: 'soft' } as const,
    ...again.map(({ within_s: withinS, count }) => ({
      when: whenOf(withinS, t, format),
      count,
      tone: 'warn' as const,
    })),
  ];
  return (
    <section className="section">
      <h2>{t.webhooks.backlog}</h2>
      <div className="card">
        <Bars
          label={t.webhooks.backlog}
          hint={t.webhooks.waiting(atLeast(total, has_more, t, format))}
          bars={groups.map(({ when, count, tone }) => ({
            label: when,
            parts: [{ tone, value: count }],
            text: t.webhooks.backlogBar(format.number(count), when),
            cells: [format.number(count)],
          }))}
          table={{
            of: t.webhooks.backlogWhen,
            columns: [{ label: t.deliveries.title, kind: 'number' }],
          }}
        />
      </div>
    </section>
  );
}

/** When a group of the backlog is tried again. */
function whenOf(withinS: number | null, t: Texts, format: Format): string {
  if (withinS === null) return t.webhooks.backlogLater;
  if (withinS === 0) return t.webhooks.backlogDue;
  return t.webhooks.backlogWithin(format.duration(withinS));
}

function Recent({ endpoint }: { readonly endpoint: Endpoint }) {
  const t = useTexts();
  const format = useFormat();
  const { id } = endpoint;
  const recent = useQuery(recentOf(id));
  return (
    <section className="section">
      <h2>{t.webhooks.recent}</h2>
      <Loaded query={recent} rows={3}>
        {({ data }) => {
          const tried = data.filter(({ status }) => status !== 'pending');
          const arrived = tried.filter(({ status }) => status === 'ok').length;
          if (data.length === 0) return <Empty title={t.deliveries.empty} />;
          return (
            <>
              {tried.length > 0 && (
                <div className="card">
                  <DeliveryChart
                    tried={tried.toReversed()}
                    hint={t.webhooks.rate(format.number(arrived), format.number(tried.length))}
                  />
                </div>
              )}
              <DeliveryTable deliveries={data.slice(0, SHOWN)} endpoints={[endpoint]} isOfOne />
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

/** How long the receiver took to answer each delivery. One without an answer is as high as any. */
function DeliveryChart({
  tried,
  hint,
}: {
  readonly tried: readonly Delivery[];
  readonly hint: string;
}) {
  const t = useTexts();
  const format = useFormat();
  const explain = useExplanation();
  const slowest = Math.max(1, ...tried.map(({ response_ms: ms }) => ms ?? 0));
  const bars = tried.map((delivery): Bar => {
    const { created_at, status, response_ms: ms } = delivery;
    const moment = format.moment(created_at ?? '');
    const took = ms === null ? '' : t.deliveries.ms(format.number(ms));
    const { what } = explain(delivery);
    return {
      label: moment,
      parts: [{ tone: status === 'ok' ? 'main' : 'bad', value: ms ?? slowest }],
      text: `${[moment, took].filter(Boolean).join(', ')}: ${what}`,
      cells: [took, what],
    };
  });
  return (
    <Bars
      label={t.webhooks.chart}
      hint={hint}
      legend={[
        { tone: 'main', text: t.deliveries.states['ok'] ?? '' },
        { tone: 'bad', text: t.webhooks.chartFailed },
      ]}
      scale={(value) => t.deliveries.ms(format.number(value))}
      bars={bars}
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
        await cache.invalidateQueries(api.v1.webhooks.pathFilter());
      },
    }),
  );
  return (
    <Dialog title={t.webhooks.removeTitle} onClose={onClose}>
      <p>
        <code>{endpoint.url}</code>
      </p>
      <p>{t.webhooks.removeHint}</p>
      <FormProblem error={remove.error} />
      <Actions>
        <Button
          look="danger"
          busy={remove.isPending}
          onClick={() => remove.mutate({ endpoint_id: endpoint.id })}
        >
          {t.webhooks.remove}
        </Button>
        <Button onClick={onClose}>{t.common.cancel}</Button>
      </Actions>
    </Dialog>
  );
}
