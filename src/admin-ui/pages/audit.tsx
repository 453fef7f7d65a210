import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client, type RouterOutputs } from '../lib/api.ts';
import { pagesOptions } from '../lib/pages.ts';
import { ACTOR_KINDS, sinceOf, type AuditSearch } from '../lib/search.ts';
import { Button } from '../ui/button.tsx';
import { Filter } from '../ui/filter.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';

type Entry = RouterOutputs['admin']['auditLog']['list']['data'][number];
const route = getRouteApi('/audit');

/** Who did what, and when. */
export function AuditPage() {
  const t = useTexts();
  const search = route.useSearch();
  const { action, kind, target, past } = search;
  const since = useMemo(() => sinceOf(past), [past]);
  const filters = { action, actor_kind: kind, target_id: target, since };
  const entries = useInfiniteQuery(
    pagesOptions(api.admin.auditLog.list.queryKey(filters), (cursor) =>
      client.admin.auditLog.list.query({ ...filters, cursor, limit: 50 }),
    ),
  );
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHead title={t.audit.title} intro={t.audit.intro} />
      <Filters />
      <Loaded query={entries}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0)
            return <Empty title={isFiltered ? t.common.nothingMatches : t.audit.empty} />;
          return (
            <>
              <AuditTable entries={rows} />
              <More query={entries} shown={rows.length} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Filters() {
  const t = useTexts();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: Partial<AuditSearch>) =>
    void navigate({ search: { ...search, ...change }, replace: true });
  return (
    <div className="filters" role="search" aria-label={t.common.filters}>
      <Filter
        label={t.audit.what}
        value={search.action}
        options={Object.entries(t.audit.actions)}
        onChange={(action) => set({ action })}
      />
      <Filter
        label={t.audit.who}
        value={search.kind}
        options={ACTOR_KINDS.map((kind) => [kind, t.audit.kinds[kind] ?? kind])}
        onChange={(kind) => set({ kind })}
      />
      <Filter
        label={t.deliveries.past}
        value={search.past}
        options={Object.entries(t.deliveries.pasts) as ['1h' | '24h' | '7d', string][]}
        onChange={(past) => set({ past })}
      />
      {search.target !== undefined && <p className="hint">{t.audit.forTarget(search.target)}</p>}
      {Object.keys(search).length > 0 && (
        <Button look="quiet" onClick={() => void navigate({ search: {}, replace: true })}>
          {t.common.reset}
        </Button>
      )}
    </div>
  );
}

function AuditTable({ entries }: { readonly entries: readonly Entry[] }) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<Entry>[] = [
    {
      label: t.audit.what,
      kind: 'main',
      cell: ({ action }) => (
        <>
          <span className="name">{t.audit.actions[action] ?? action}</span>
          <code className="sub">{action}</code>
        </>
      ),
    },
    {
      label: t.audit.who,
      cell: ({ actor }) => (
        <>
          {t.audit.kinds[actor.kind] ?? actor.kind}
          <code className="sub">{actor.id}</code>
        </>
      ),
    },
    { label: t.audit.target, cell: ({ target_id: id }) => id !== null && <Target id={id} /> },
    {
      label: t.audit.when,
      cell: ({ created_at: at }) => (
        <time dateTime={at} title={format.ago(at)}>
          {format.moment(at)}
        </time>
      ),
    },
    {
      label: t.common.details,
      cell: ({ request_id, details }) => (
        <details className="scopes">
          <summary>{t.common.details}</summary>
          <p className="hint">{t.common.requestId(request_id)}</p>
          {Object.entries(details).map(([name, value]) => (
            <p key={name}>
              <code>
                {name}: {JSON.stringify(value)}
              </code>
            </p>
          ))}
        </details>
      ),
    },
  ];
  return <Table caption={t.audit.title} columns={columns} rows={entries} keyOf={({ id }) => id} />;
}

/** A link to what an entry is about, if it has a page, else to all entries about it. */
function Target({ id }: { readonly id: string }) {
  const text = <code>{id}</code>;
  if (id.startsWith('whe_'))
    return (
      <Link to="/webhooks/$endpointId" params={{ endpointId: id }}>
        {text}
      </Link>
    );
  if (id.startsWith('whd_'))
    return (
      <Link to="/deliveries/$deliveryId" params={{ deliveryId: id }}>
        {text}
      </Link>
    );
  return (
    <Link to="/audit" search={{ target: id }}>
      {text}
    </Link>
  );
}
