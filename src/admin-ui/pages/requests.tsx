import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client, type RouterOutputs } from '../lib/api.ts';
import { countRows, pagesOptions, searchedBackTo } from '../lib/pages.ts';
import { rowsOfPages } from '../lib/queries.ts';
import { Button } from '../ui/button.tsx';
import { Filter, FilterBar, TextFilter } from '../ui/filter.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { TimeFilter, useTimes } from '../ui/time-filter.tsx';
import { nameOfKey } from './key-name.ts';
import { useKeys, type NamedKey } from './key-queries.ts';
import { filtersOf, idTyped, keyIdsFor, routesOf, statusesFor } from './request-filters.ts';
import { RequestStatus } from './request-status.tsx';

type LoggedRequest = RouterOutputs['admin']['requests']['list']['data'][number];

const route = getRouteApi('/requests');

/** The calls of the team's keys. The filters are in the address. */
export function RequestsPage() {
  const t = useTexts();
  const search = route.useSearch();
  const filters = filtersOf(search, useTimes(search));
  const requests = useInfiniteQuery(
    pagesOptions(api.admin.requests.list.queryKey(filters), (cursor) =>
      client.admin.requests.list.query({ ...filters, cursor, limit: 50 }),
    ),
  );
  const isFiltered = Object.keys(search).length > 0;
  const known = rowsOfPages(requests);
  const keys = useKeys(keyIdsFor(search, known));
  return (
    <>
      <PageHead title={t.requests.title} intro={t.requests.intro}>
        <Button onClick={() => void requests.refetch()} busy={requests.isFetching}>
          {t.requests.refresh}
        </Button>
      </PageHead>
      <Filters
        keys={keys.named}
        routes={routesOf(known)}
        shown={countRows(requests)}
        reached={searchedBackTo(requests.data)}
      />
      <Loaded query={requests} isWaiting={keys.isPending}>
        {() =>
          known.length === 0 && !requests.hasNextPage ? (
            isFiltered ? (
              <Empty title={t.common.nothingMatches} hint={t.requests.late} />
            ) : (
              <Empty title={t.requests.empty} hint={t.requests.emptyHint} />
            )
          ) : (
            <>
              {known.length > 0 && <RequestTable requests={known} keys={keys.named} />}
              <More query={requests} shown={known.length} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function Filters({
  keys,
  routes,
  shown,
  reached,
}: {
  readonly keys: readonly NamedKey[];
  readonly routes: string[];
  readonly shown: number | undefined;
  readonly reached: string | null;
}) {
  const t = useTexts();
  const search = route.useSearch();
  const names: Readonly<Record<string, string>> = t.requests.statuses;
  return (
    <FilterBar search={search} navigate={route.useNavigate()} shown={shown} reached={reached}>
      {(_, set) => (
        <>
          <Filter
            label={t.requests.status}
            value={search.status}
            options={statusesFor(search.status).map((one) => [one, names[one] ?? one])}
            onChange={(status) => set({ status })}
          />
          <Filter
            label={t.requests.code}
            value={search.code}
            options={Object.entries(t.requests.codeNames)}
            onChange={(code) => set({ code })}
          />
          <Filter
            label={t.usage.key}
            value={search.key}
            options={keys.map(({ id, name }) => [id, nameOfKey(t, name)])}
            onChange={(key) => set({ key })}
          />
          <TimeFilter value={search} onChange={set} />
          <TextFilter
            label={t.requests.route}
            value={search.path}
            placeholder="/users"
            suggestions={routes}
            onChange={(path) => set({ path })}
          />
          <TextFilter
            label={t.requests.id}
            value={search.id}
            placeholder="01a1ee19-…"
            onChange={(text) => set({ id: idTyped(text) })}
          />
        </>
      )}
    </FilterBar>
  );
}

function RequestTable({
  requests,
  keys,
}: {
  readonly requests: readonly LoggedRequest[];
  readonly keys: readonly NamedKey[];
}) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<LoggedRequest>[] = [
    {
      label: t.requests.call,
      kind: 'main',
      cell: ({ id, method, route: path, created_at: at }) => (
        <Link to="/requests/$requestId" params={{ requestId: id }} className="name">
          <code>
            {method} {path}
          </code>
          <span className="visually-hidden">, {format.second(at)}</span>
        </Link>
      ),
    },
    {
      label: t.requests.status,
      cell: ({ status, error_code: code }) => (
        <>
          <RequestStatus status={status} />
          {code !== null && <code className="sub">{code}</code>}
        </>
      ),
    },
    {
      label: t.usage.key,
      cell: ({ key_id: id }) => {
        const key = keys.find((one) => one.id === id);
        return key ? nameOfKey(t, key.name) : <code>{id}</code>;
      },
    },
    {
      label: t.requests.took,
      kind: 'number',
      cell: ({ duration_ms: ms }) => t.deliveries.ms(format.number(ms)),
    },
    {
      label: t.audit.when,
      cell: ({ created_at: at }) => (
        <time dateTime={at} title={format.ago(at)}>
          {format.second(at)}
        </time>
      ),
    },
  ];
  return (
    <Table caption={t.requests.title} columns={columns} rows={requests} keyOf={({ id }) => id} />
  );
}
