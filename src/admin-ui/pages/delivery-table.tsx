import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { Badge } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { Wrappable } from '../ui/wrappable.tsx';
import {
  explanationOf,
  isHeld,
  nameAmong,
  toneOfDelivery,
  type Delivery,
} from './delivery-outcome.ts';
import type { Endpoint } from './endpoint-name.ts';
import { nameOfEvent } from './event-types.ts';

/** Deliveries with their outcome. */
export function DeliveryTable({
  deliveries,
  endpoints,
  isOfOne = false,
}: {
  readonly deliveries: readonly Delivery[];
  readonly endpoints: readonly Endpoint[];
  /** All are of one endpoint, which need not be named in each row. */
  readonly isOfOne?: boolean;
}) {
  const t = useTexts();
  const format = useFormat();
  const nameOf = (id: string) => nameAmong(endpoints, id);
  const columns: Column<Delivery>[] = [
    {
      label: t.deliveries.event,
      kind: 'main',
      cell: ({ id, event_type: type, endpoint_id, created_at: at }) => (
        <>
          <Link to="/deliveries/$deliveryId" params={{ deliveryId: id }} className="name">
            {nameOfEvent(t, type ?? '')}
            <span className="visually-hidden">
              : {[nameOf(endpoint_id), at && format.second(at)].filter(Boolean).join(', ')}
            </span>
          </Link>
          <code className="sub">{type}</code>
        </>
      ),
    },
    {
      label: t.deliveries.state,
      cell: (delivery) => (
        <StateAndNext
          delivery={delivery}
          endpoint={endpoints.find(({ id }) => id === delivery.endpoint_id)}
        />
      ),
    },
    {
      label: t.deliveries.result,
      cell: (delivery) => <DeliveryResult delivery={delivery} />,
    },
    ...(isOfOne
      ? []
      : [
          {
            label: t.deliveries.endpoint,
            cell: ({ endpoint_id }: Delivery) => (
              <span className="free">
                <Wrappable text={nameOf(endpoint_id)} />
              </span>
            ),
          },
        ]),
    {
      label: t.deliveries.created,
      cell: ({ created_at: at }) =>
        at !== null && (
          <time dateTime={at} title={format.ago(at)}>
            {format.moment(at)}
          </time>
        ),
    },
  ];
  return (
    <Table
      caption={t.deliveries.title}
      columns={columns}
      rows={deliveries}
      keyOf={({ id }) => id}
    />
  );
}

function StateAndNext({
  delivery,
  endpoint,
}: {
  readonly delivery: Delivery;
  readonly endpoint: Endpoint | undefined;
}) {
  const t = useTexts();
  const format = useFormat();
  const { status, next_try_at: next } = delivery;
  const willRetry = next !== null && status === 'retrying';
  return (
    <>
      <DeliveryState status={status} />
      {isHeld(delivery, endpoint) ? (
        <small className="sub">{t.deliveries.held}</small>
      ) : (
        willRetry && <small className="sub">{t.deliveries.next(format.ago(next))}</small>
      )}
    </>
  );
}

function DeliveryResult({ delivery }: { readonly delivery: Delivery }) {
  const t = useTexts();
  const format = useFormat();
  return (
    <>
      {delivery.response_code === null ? (
        delivery.error === null ? (
          t.deliveries.noAnswerYet
        ) : (
          explanationOf(t, delivery).what
        )
      ) : (
        <span className="keep">{t.deliveries.answered(delivery.response_code)}</span>
      )}
      {delivery.response_ms !== null && (
        <small className="sub">{t.deliveries.ms(format.number(delivery.response_ms))}</small>
      )}
    </>
  );
}

export function DeliveryState({ status }: { readonly status: string }) {
  const t = useTexts();
  return <Badge tone={toneOfDelivery(status)}>{t.deliveries.states[status] ?? status}</Badge>;
}
