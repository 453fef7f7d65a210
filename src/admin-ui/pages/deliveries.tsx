import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useDeed } from '../lib/deeds.ts';
import { countRows, pagesOptions, refreshesMs, searchedBackTo } from '../lib/pages.ts';
import { problemOf } from '../lib/problem.ts';
import { rowsKnown } from '../lib/queries.ts';
import { DELIVERY_STATUSES } from '../lib/search.ts';
import { useTask } from '../lib/task.ts';
import { Button } from '../ui/button.tsx';
import { Filter, FilterBar } from '../ui/filter.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { More } from '../ui/table.tsx';
import { TimeFilter, useTimes } from '../ui/time-filter.tsx';
import { DeliveryTable } from './delivery-table.tsx';
import { nameOfEvent, SUBSCRIBABLE_EVENTS } from './event-types.ts';
import { PastResends, ResendDialog } from './resend.tsx';
import { endpointChoices, type Endpoint } from './endpoint-name.ts';

const route = getRouteApi('/deliveries');

/** Deliveries of all endpoints. The filters are in the address. */
export function DeliveriesPage() {
  const t = useTexts();
  const resending = useTask<true>();
  const search = route.useSearch();
  const { status, endpoint, type } = search;
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const filters = { status, endpoint_id: endpoint, event_type: type, ...useTimes(search) };
  const deliveries = useInfiniteQuery({
    ...pagesOptions(api.admin.deliveries.list.queryKey(filters), (cursor) =>
      client.admin.deliveries.list.query({ ...filters, cursor }),
    ),
    refetchInterval: ({ state }) => refreshesMs(state.data),
  });
  const known = rowsKnown(endpoints);
  const hasNone = endpoints.isSuccess && known.length === 0;
  useDeed('resend', () => resending.begin(true), known.length > 0);
  const { code } = problemOf(endpoints.error);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHead title={t.deliveries.title} intro={t.deliveries.intro}>
        {!hasNone && (
          <Button
            busy={endpoints.isPending}
            why={known.length === 0 && endpoints.error ? t.problems[code] : null}
            onClick={() => resending.begin(true)}
          >
            {t.resend.open}
          </Button>
        )}
      </PageHead>
      <Filters
        endpoints={known}
        shown={countRows(deliveries)}
        reached={searchedBackTo(deliveries.data)}
      />
      {/* Rows grow when the names of their endpoints arrive. */}
      <Loaded query={deliveries} isWaiting={endpoints.isPending}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0 && !deliveries.hasNextPage)
            return isFiltered ? (
              <Empty title={t.common.nothingMatches} />
            ) : (
              <Empty title={t.deliveries.empty} hint={t.deliveries.emptyHint} />
            );
          return (
            <>
              {rows.length > 0 && <DeliveryTable deliveries={rows} endpoints={known} />}
              <More query={deliveries} shown={rows.length} />
            </>
          );
        }}
      </Loaded>
      <PastResends endpoints={known} />
      {resending.task && (
        <ResendDialog
          endpoints={known}
          first={endpoint}
          times={search}
          type={type}
          status={status}
          onClose={resending.close}
        />
      )}
    </>
  );
}

function Filters({
  endpoints,
  shown,
  reached,
}: {
  readonly endpoints: readonly Endpoint[];
  readonly shown: number | undefined;
  readonly reached: string | null;
}) {
  const t = useTexts();
  return (
    <FilterBar
      search={route.useSearch()}
      navigate={route.useNavigate()}
      shown={shown}
      reached={reached}
    >
      {(search, set) => (
        <>
          <Filter
            label={t.deliveries.state}
            value={search.status}
            options={DELIVERY_STATUSES.map((one) => [one, t.deliveries.states[one] ?? one])}
            onChange={(status) => set({ status })}
          />
          <TimeFilter value={search} onChange={set} />
          <Filter
            label={t.deliveries.event}
            value={search.type}
            options={[...SUBSCRIBABLE_EVENTS, 'ping'].map((one) => [one, nameOfEvent(t, one)])}
            onChange={(type) => set({ type })}
          />
          <Filter
            label={t.deliveries.endpoint}
            value={search.endpoint}
            options={endpointChoices(endpoints)}
            onChange={(endpoint) => set({ endpoint })}
          />
        </>
      )}
    </FilterBar>
  );
}
