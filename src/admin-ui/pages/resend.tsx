import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { atLeast } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { problemOf } from '../lib/problem.ts';
import { whileUnknown } from '../lib/queries.ts';
import type { TimeSearch } from '../lib/search.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, FormProblem } from '../ui/field.tsx';
import { Filter } from '../ui/filter.tsx';
import { withChosen } from '../ui/filter-values.ts';
import { announce } from '../ui/notice.tsx';
import { Badge, Loaded } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { TimeFilter, useTimes } from '../ui/time-filter.tsx';
import { FAILED, nameAmong } from './delivery-outcome.ts';
import { endpointChoices, nameOfEndpoint, type Endpoint } from './endpoint-name.ts';
import { useStatusChange } from './endpoint-status.ts';
import { nameOfEvent, SUBSCRIBABLE_EVENTS } from './event-types.ts';
import { few } from './few.ts';
import {
  ALL,
  firstChoice,
  isPaused,
  looksAgainMs,
  pausedIn,
  wantedOf,
  whyNotResend,
  type Resend,
  type Which,
} from './resend-choice.ts';

type Count = RouterOutputs['admin']['deliveries']['countResend'];

/** Sends failed deliveries again, after they were counted. */
export function ResendDialog({
  endpoints,
  first,
  times,
  type,
  status,
  onClose,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly first: string | undefined;
  /** What the filters of the page say. */
  readonly times: TimeSearch;
  readonly type: string | undefined;
  readonly status: string | undefined;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const [begin] = useState(() => firstChoice(endpoints, { endpoint: first, times, type, status }));
  const [endpointId, setEndpointId] = useState(begin.endpointId);
  const [chosen, setChosen] = useState(begin.times);
  const [which, setWhich] = useState(begin.which);
  const wanted = wantedOf(endpointId, which, useTimes(chosen));
  const counted = useQuery(api.admin.deliveries.countResend.queryOptions(wanted));
  const start = useMutation(
    api.admin.deliveries.startResend.mutationOptions({
      onSuccess: async ({ data }) => {
        await cache.invalidateQueries(api.admin.deliveries.pathFilter());
        announce(data.length > 0 ? t.resend.started : t.resend.nothing);
        onClose();
      },
    }),
  );
  const endpoint = endpoints.find(({ id }) => id === endpointId);
  const total = counted.data?.total;
  const whyNot = whyNotResend({ endpoint, isCounting: counted.isPending, total });
  const reasons = { ...t.resend, uncounted: t.problems[problemOf(counted.error).code] };
  return (
    <Dialog title={t.resend.title} onClose={onClose}>
      <p>{t.resend.hint}</p>
      <EndpointField
        endpoints={endpoints}
        value={endpointId}
        error={isPaused(endpoint) ? t.resend.paused : null}
        onChange={setEndpointId}
      />
      <WhichFields value={which} onChange={setWhich} />
      <TimeFilter value={chosen} isRequired onChange={setChosen} />
      <div role="status" className="counted">
        {counted.isPending
          ? t.resend.counting
          : counted.data && (
              <Counted count={counted.data} endpoints={endpoints} isOfAll={endpointId === ALL} />
            )}
      </div>
      <PausedEndpoints
        endpoints={pausedIn(endpoints, endpoint, whileUnknown(counted, { paused: [] }).paused)}
        why={endpoint ? t.resend.pausedWhy : null}
      />
      <FormProblem error={counted.error ?? start.error} />
      <Actions>
        <Button onClick={onClose}>{t.common.cancel}</Button>
        <Button
          look="main"
          busy={start.isPending}
          why={whyNot && reasons[whyNot]}
          onClick={() => start.mutate(wanted)}
        >
          {t.resend.start(format.number(total ?? 0))}
        </Button>
      </Actions>
    </Dialog>
  );
}

function WhichFields({
  value,
  onChange,
}: {
  readonly value: Which;
  readonly onChange: (value: Which) => void;
}) {
  const t = useTexts();
  return (
    <>
      <Filter
        label={t.deliveries.state}
        value={value.status}
        options={FAILED.map((one) => [one, t.deliveries.states[one] ?? one])}
        onChange={(status) => onChange({ ...value, status })}
      />
      <Filter
        label={t.deliveries.event}
        value={value.type}
        options={SUBSCRIBABLE_EVENTS.map((one) => [one, nameOfEvent(t, one)])}
        onChange={(type) => onChange({ ...value, type })}
      />
    </>
  );
}

function Counted({
  count: { total, has_more, paused },
  endpoints,
  isOfAll,
}: {
  readonly count: Count;
  readonly endpoints: readonly Endpoint[];
  readonly isOfAll: boolean;
}) {
  const t = useTexts();
  const format = useFormat();
  const none = isOfAll && endpoints.length > 1 ? t.resend.nothingActive : t.resend.nothing;
  const names = few(
    paused.map(({ endpoint_id: id }) => nameAmong(endpoints, id)),
    t,
    format,
  );
  const left = paused.reduce((sum, { failed }) => sum + failed, 0);
  const hasMore = paused.some((one) => one.has_more);
  return (
    <>
      <p>
        {total === 0 ? none : t.resend.total(total, format.number(total))}{' '}
        {has_more && t.resend.hasMore}
      </p>
      {paused.length > 0 && (
        <p>{t.resend.atPaused(atLeast(left, hasMore, t, format), paused.length, names)}</p>
      )}
    </>
  );
}

/** Says why nothing is sent to them, and lets the reader activate each. */
function PausedEndpoints({
  endpoints,
  why,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly why: string | null;
}) {
  const t = useTexts();
  const change = useStatusChange();
  if (endpoints.length === 0 && !change.error) return null;
  return (
    <>
      {why !== null && <p className="hint">{why}</p>}
      <FormProblem error={change.error} />
      <Actions>
        {endpoints.map((one) => (
          <Button
            key={one.id}
            busy={change.isPending && change.variables.endpoint_id === one.id}
            onClick={() => change.mutate({ endpoint_id: one.id, status: 'active' })}
          >
            {t.resend.reactivate(nameOfEndpoint(one))}
          </Button>
        ))}
      </Actions>
    </>
  );
}

function EndpointField({
  endpoints,
  value,
  error,
  onChange,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly value: string | undefined;
  readonly error: string | null;
  readonly onChange: (id: string) => void;
}) {
  const t = useTexts();
  const all = endpoints.length > 1 ? [[ALL, t.resend.allEndpoints] as const] : [];
  return (
    <Field label={t.deliveries.endpoint} error={error}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {withChosen([...all, ...endpointChoices(endpoints)], value).map(([id, text]) => (
            <option key={id} value={id}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The last bulk resends, with their progress. Shows nothing if there was none. */
export function PastResends({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const t = useTexts();
  const resends = useQuery({
    ...api.admin.deliveries.listResends.queryOptions({}),
    refetchInterval: ({ state }) => looksAgainMs(state.data?.data),
  });
  if (resends.data?.data.length === 0) return null;
  return (
    <section className="section">
      <h2>{t.resend.past}</h2>
      <Loaded query={resends} rows={1}>
        {({ data }) => <ResendTable resends={data} endpoints={endpoints} />}
      </Loaded>
    </section>
  );
}

function ResendTable({
  resends,
  endpoints,
}: {
  readonly resends: readonly Resend[];
  readonly endpoints: readonly Endpoint[];
}) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const cancel = useMutation(
    api.admin.deliveries.cancelResend.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.deliveries.listResends.pathFilter());
        announce(t.resend.stopped);
      },
    }),
  );
  return (
    <>
      <FormProblem error={cancel.error} />
      <Table
        caption={t.resend.past}
        rows={resends}
        keyOf={({ id }) => id}
        columns={[
          {
            label: t.resend.when,
            kind: 'main',
            cell: ({ created_at }) => format.moment(created_at),
          },
          {
            label: t.deliveries.endpoint,
            cell: ({ endpoint_id }) => {
              const endpoint = endpoints.find(({ id }) => id === endpoint_id);
              return endpoint ? nameOfEndpoint(endpoint) : endpoint_id;
            },
          },
          {
            label: t.resend.from,
            cell: (resend) => <Failures resend={resend} />,
          },
          {
            label: t.deliveries.state,
            cell: ({ state, sent, total }) => (
              <>
                <Badge tone={state === 'done' ? 'good' : 'plain'}>
                  {t.resend.states[state] ?? state}
                </Badge>
                <small className="sub">
                  {t.resend.progress(format.number(sent), format.number(total))}
                </small>
              </>
            ),
          },
          {
            label: t.common.actions,
            kind: 'actions',
            cell: ({ id, state }) =>
              state === 'running' && (
                <Actions>
                  <Button busy={cancel.isPending} onClick={() => cancel.mutate({ resend_id: id })}>
                    {t.resend.stop}
                  </Button>
                </Actions>
              ),
          },
        ]}
      />
    </>
  );
}

/** Which deliveries a resend sends again. */
function Failures({
  resend: { since, until, event_type: event, status },
}: {
  readonly resend: Resend;
}) {
  const t = useTexts();
  const format = useFormat();
  return (
    <>
      {until === null
        ? t.resend.since(format.moment(since))
        : t.resend.range(format.moment(since), format.moment(until))}
      {event !== null && <small className="sub">{nameOfEvent(t, event)}</small>}
      {status !== null && <small className="sub">{t.deliveries.states[status] ?? status}</small>}
    </>
  );
}
