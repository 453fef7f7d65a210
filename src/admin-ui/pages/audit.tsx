import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Fragment } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { countRows, pagesOptions, searchedBackTo } from '../lib/pages.ts';
import { rowsKnown, rowsOfPages } from '../lib/queries.ts';
import { ACTOR_KINDS } from '../lib/search.ts';
import { Filter, FilterBar } from '../ui/filter.tsx';
import { Empty, Loaded, PageHead, Summary } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { TimeFilter, useTimes } from '../ui/time-filter.tsx';
import {
  factsOf,
  isInRequestLog,
  keyIdsIn,
  memberIdsIn,
  placeOfTarget,
  type Entry,
} from './audit-entries.ts';
import { nameOfKey } from './key-name.ts';
import { useKeys, type NamedKey } from './key-queries.ts';
import { HiddenAddresses } from './hidden.tsx';
import { nameOf as nameOfMember } from './member-name.ts';
import { nameInParts } from './ids-to-name.ts';
import { nameOfEndpoint } from './endpoint-name.ts';

const route = getRouteApi('/audit');

/** Who did what, and when. */
export function AuditPage() {
  const t = useTexts();
  const search = route.useSearch();
  const { action, kind, actor, target } = search;
  const times = useTimes(search);
  const filters = { action, actor_kind: kind, actor_id: actor, target_id: target, ...times };
  const endpoints = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const entries = useInfiniteQuery(
    pagesOptions(api.admin.auditLog.list.queryKey(filters), (cursor) =>
      client.admin.auditLog.list.query({ ...filters, cursor, limit: 50 }),
    ),
  );
  const known = rowsOfPages(entries);
  const keys = useKeys(keyIdsIn(known));
  const memberIds = memberIdsIn(known);
  const members = useQuery({
    queryKey: [...api.admin.members.names.queryKey({ member_ids: memberIds }), 'all'],
    queryFn: () =>
      nameInParts(memberIds, (part) => client.admin.members.names.query({ member_ids: part })),
    enabled: memberIds.length > 0,
    placeholderData: keepPreviousData,
  });
  const isNaming =
    keys.isPending || endpoints.isPending || (memberIds.length > 0 && members.isPending);
  const names = new Map([
    ...rowsKnown(members).map((member) => [member.id, nameOfMember(member)] as const),
    ...keys.named.map(({ id, name }) => [id, nameOfKey(t, name)] as const),
    ...rowsKnown(endpoints).map((one) => [one.id, nameOfEndpoint(one)] as const),
  ]);
  const nameOf = (id: string) => names.get(id);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHead title={t.audit.title} intro={t.audit.intro} />
      <Filters
        keys={keys.named}
        nameOf={nameOf}
        shown={countRows(entries)}
        reached={searchedBackTo(entries.data)}
      />
      {/* Rows would change their height when the names arrive. */}
      <Loaded query={entries} isWaiting={isNaming}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0 && !entries.hasNextPage)
            return isFiltered ? (
              <Empty title={t.common.nothingMatches} />
            ) : (
              <Empty title={t.audit.empty} hint={t.audit.emptyHint} />
            );
          return (
            <>
              <HiddenAddresses people={rowsKnown(members)} />
              {rows.length > 0 && <AuditTable entries={rows} nameOf={nameOf} />}
              <More query={entries} shown={rows.length} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Filters({
  keys,
  nameOf,
  shown,
  reached,
}: {
  readonly keys: readonly NamedKey[];
  readonly nameOf: (id: string) => string | undefined;
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
          <TimeFilter value={search} onChange={set} />
          <Filter
            label={t.usage.key}
            value={keys.find(({ id }) => id === search.actor)?.id}
            options={keys.map(({ id, name }) => [id, nameOfKey(t, name)])}
            onChange={(actor) => set({ actor })}
          />
          {search.actor !== undefined && !keys.some(({ id }) => id === search.actor) && (
            <p className="hint">{t.audit.byActor(nameOf(search.actor) ?? search.actor)}</p>
          )}
          {search.target !== undefined && (
            <p className="hint">{t.audit.forTarget(search.target)}</p>
          )}
        </>
      )}
    </FilterBar>
  );
}

/** Entries, with what their ids are called. */
export function AuditTable({
  entries,
  nameOf,
}: {
  readonly entries: readonly Entry[];
  readonly nameOf: (id: string) => string | undefined;
}) {
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
          <Link to="/audit" search={{ actor: actor.id }} title={t.audit.allBy(actor.id)}>
            {nameOf(actor.id) ?? <code>{actor.id}</code>}
          </Link>
          <small className="sub">{t.audit.kinds[actor.kind] ?? actor.kind}</small>
        </>
      ),
    },
    {
      label: t.audit.target,
      cell: ({ target_id: id }) => id !== null && <Target id={id} name={nameOf(id)} />,
    },
    {
      label: t.audit.when,
      cell: ({ created_at: at }) => (
        <time dateTime={at} title={format.ago(at)}>
          {format.moment(at)}
        </time>
      ),
    },
  ];
  return (
    <Table
      caption={t.audit.title}
      columns={columns}
      rows={entries}
      keyOf={({ id }) => id}
      detail={(entry) => <EntryDetails entry={entry} />}
    />
  );
}

function EntryDetails({ entry }: { readonly entry: Entry }) {
  const t = useTexts();
  const format = useFormat();
  const { action, created_at, request_id, actor, target_id } = entry;
  const name = `${t.audit.actions[action] ?? action}, ${format.second(created_at)}`;
  const facts = factsOf(entry);
  return (
    <details>
      <Summary of={name}>{t.common.details}</Summary>
      <dl className="pairs">
        {facts.map(([field, value]) => (
          <Fragment key={field}>
            <dt>
              <code>{field}</code>
            </dt>
            <dd>
              <code>{value}</code>
            </dd>
          </Fragment>
        ))}
      </dl>
      {isInRequestLog(actor) && (
        <p>
          <Link to="/requests/$requestId" params={{ requestId: request_id }}>
            {t.audit.toRequest}
          </Link>
        </p>
      )}
      {target_id !== null && (
        <p>
          <Link to="/audit" search={{ target: target_id }}>
            {t.audit.allAbout}
          </Link>
        </p>
      )}
    </details>
  );
}

/** A link to what an entry is about, if it has a page, else to all entries about it. */
function Target({ id, name }: { readonly id: string; readonly name: string | undefined }) {
  const text = name ?? <code className="id">{id}</code>;
  const place = placeOfTarget(id);
  if (place === 'endpoint')
    return (
      <Link to="/webhooks/$endpointId" params={{ endpointId: id }}>
        {text}
      </Link>
    );
  if (place === 'delivery')
    return (
      <Link to="/deliveries/$deliveryId" params={{ deliveryId: id }}>
        {text}
      </Link>
    );
  if (place !== 'entries') return <Link to={place}>{text}</Link>;
  return (
    <Link to="/audit" search={{ target: id }}>
      {text}
    </Link>
  );
}
