import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { everyOf } from '../lib/every-of.ts';
import { useLastFailure } from '../lib/last-failure.ts';
import { optimistic } from '../lib/optimistic.ts';
import { problemOf } from '../lib/problem.ts';
import { alongWith } from '../lib/queries.ts';
import { withoutEmpty } from '../lib/search.ts';
import { toggled } from '../lib/toggled.ts';
import { Choice, Field, FormProblem, Group } from '../ui/field.tsx';
import { Filter, FilterBar } from '../ui/filter.tsx';
import { announce } from '../ui/notice.tsx';
import { Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import {
  entriesFor,
  isBlockedAbove,
  isBlockedFor,
  releasedAfter,
  releasedShown,
  withBlock,
  withRelease,
  type Block,
  type CatalogSearch,
  type Entry,
  type Release,
} from './catalog-changes.ts';
import { PersonChoice } from './person-choice.tsx';

const KINDS = everyOf<Entry['kind']>({
  situation: true,
  personality: true,
  industry: true,
  role: true,
  methodology: true,
});

const ENTRIES = [...api.admin.team.catalog.queryKey({}), 'all'];
/** One after the other: each list is read and then set as a whole. */
const SCOPE = { id: 'policies' };

/** All of it: an entry that was left out would look as if there were none. */
async function readCatalog(): Promise<Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.admin.team.catalog.query({ cursor, limit: 200 });
    entries.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return entries;
}

/** What shows whether an entry is blocked: all entries for the team, or what a member lacks. */
type Blocked = readonly Entry[] | { readonly blocked: readonly string[] };

const blockedKeyOf = ({ memberId }: Block) =>
  memberId === undefined
    ? ENTRIES
    : api.admin.team.memberPolicy.get.queryKey({ member_id: memberId });

const blockedAfter = (shown: Blocked, block: Block): Blocked =>
  'blocked' in shown
    ? { blocked: toggled(shown.blocked, block.id, block.isBlocked) }
    : withBlock(shown, block);

/** Policies, and the entries that are released to the team. */
export function CatalogPage() {
  const t = useTexts();
  const [chosen, setChosen] = useState<string | undefined | null>();
  const memberId = chosen ?? undefined;
  const entries = useQuery({ queryKey: ENTRIES, queryFn: readCatalog });
  const release = useQuery(api.admin.team.release.get.queryOptions({}));
  const memberPolicy = useQuery({
    ...api.admin.team.memberPolicy.get.queryOptions({ member_id: memberId ?? '' }),
    enabled: memberId !== undefined,
  });
  const block = useBlock();
  const setRelease = useRelease();
  const failure = useLastFailure(SCOPE);
  // What was chosen is shown at once, and taken back if the service refuses it.
  const asked = setRelease.isPending ? setRelease.variables : undefined;
  return (
    <>
      <PageHead title={t.catalog.title} intro={t.catalog.intro} />
      <FormProblem error={failure} />
      <Loaded query={alongWith(entries, release)}>
        {([data, { released }]) => {
          const hasAll = releasedShown(asked, released) === 'all';
          const entriesUnder = (memberBlocked: readonly string[] | null) => (
            <Entries
              entries={data}
              memberBlocked={memberBlocked}
              canRelease={!hasAll}
              onBlock={(id, isBlocked) => block.mutate({ memberId, id, isBlocked })}
              onRelease={(id, isReleased) => setRelease.mutate({ id, isReleased })}
            />
          );
          return (
            <>
              <ReleaseChoice hasAll={hasAll} onChange={(change) => setRelease.mutate(change)} />
              <div className="filters section">
                <PersonChoice
                  label={t.catalog.forWhom}
                  none={t.catalog.wholeTeam}
                  onChange={setChosen}
                />
              </div>
              {chosen === undefined && entriesUnder(null)}
              {memberId !== undefined && (
                <Loaded query={memberPolicy}>{({ blocked }) => entriesUnder(blocked)}</Loaded>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** What follows a change of policies or of what is released. */
function useAfterChange() {
  const t = useTexts();
  const cache = useQueryClient();
  return {
    scope: SCOPE,
    onSuccess: () => announce(t.catalog.saved),
    onSettled: () => cache.invalidateQueries(api.admin.team.pathFilter()),
    onUndone: () => announce(t.common.undone),
  };
}

/** Another admin may change a list between the two calls. Then both are made once more. */
async function againIfChanged<T>(readAndSet: () => Promise<T>): Promise<T> {
  try {
    return await readAndSet();
  } catch (error) {
    if (problemOf(error).code !== 'precondition_failed') throw error;
    return readAndSet();
  }
}

/** Blocks or allows an entry for a member, or without one for the whole team. */
function useBlock() {
  const { onUndone, ...after } = useAfterChange();
  return useMutation({
    ...optimistic(blockedKeyOf, blockedAfter, onUndone),
    ...after,
    mutationFn: async ({ memberId, id, isBlocked }: Block) => {
      if (memberId === undefined)
        return againIfChanged(async () => {
          const { blocked: was } = await client.admin.team.policy.get.query({});
          const blocked = toggled(was, id, isBlocked);
          return client.admin.team.policy.set.mutate({ blocked, was });
        });
      const who = { member_id: memberId };
      return againIfChanged(async () => {
        const { blocked: was } = await client.admin.team.memberPolicy.get.query(who);
        const blocked = toggled(was, id, isBlocked);
        return client.admin.team.memberPolicy.set.mutate({ ...who, blocked, was });
      });
    },
  });
}

function useRelease() {
  const { onUndone, ...after } = useAfterChange();
  return useMutation({
    ...optimistic<Entry[], Release>(() => ENTRIES, withRelease, onUndone),
    ...after,
    mutationFn: (change: Release) =>
      againIfChanged(async () => {
        const { released: was } = await client.admin.team.release.get.query({});
        // What the page shows may be minutes old, and lack what was added since.
        const released = await releasedAfter(was, change, readCatalog);
        return client.admin.team.release.set.mutate({ released, was });
      }),
  });
}

function ReleaseChoice({
  hasAll,
  onChange,
}: {
  readonly hasAll: boolean;
  readonly onChange: (change: 'all' | 'some') => void;
}) {
  const t = useTexts();
  return (
    <div className="card">
      <Group legend={t.catalog.release}>
        <Choice
          kind="radio"
          name="release"
          checked={hasAll}
          label={t.catalog.releaseAll}
          onChange={() => onChange('all')}
        />
        <Choice
          kind="radio"
          name="release"
          checked={!hasAll}
          label={t.catalog.releaseSome}
          onChange={() => onChange('some')}
        />
      </Group>
    </div>
  );
}

interface Policies {
  /** What the policy of the chosen member blocks; null for the team's own policy. */
  readonly memberBlocked: readonly string[] | null;
  readonly canRelease: boolean;
  readonly onBlock: (id: string, isBlocked: boolean) => void;
  readonly onRelease: (id: string, isReleased: boolean) => void;
}

function Entries({
  entries,
  ...policies
}: Policies & {
  readonly entries: readonly Entry[];
}) {
  const t = useTexts();
  const [search, setSearch] = useState<CatalogSearch>({});
  const { kind, text = '' } = search;
  const shown = entriesFor(entries, { kind, text: useDeferredValue(text) });
  const columns = useColumns(policies);
  if (entries.length === 0) return <Empty title={t.catalog.empty} />;
  return (
    <>
      <FilterBar
        search={search}
        navigate={(to) => setSearch(withoutEmpty(to.search))}
        shown={shown.length}
      >
        {(_, set) => (
          <>
            <Field label={t.catalog.search}>
              {(props) => (
                <input
                  {...props}
                  type="search"
                  value={text}
                  onChange={({ currentTarget }) => set({ text: currentTarget.value || undefined })}
                />
              )}
            </Field>
            <Filter
              label={t.catalog.kind}
              value={kind}
              options={KINDS.map((one) => [one, t.catalog.kinds[one]])}
              onChange={(one) => set({ kind: one })}
            />
          </>
        )}
      </FilterBar>
      {shown.length === 0 ? (
        <Empty title={t.common.nothingMatches} />
      ) : (
        <Table caption={t.catalog.title} columns={columns} rows={shown} keyOf={({ id }) => id} />
      )}
    </>
  );
}

function useColumns({
  memberBlocked,
  canRelease,
  onBlock,
  onRelease,
}: Policies): readonly Column<Entry>[] {
  const t = useTexts();
  const labelOf = ({ name, id }: Entry) => name ?? id;
  return [
    {
      label: t.catalog.name,
      kind: 'main',
      cell: (entry) => (
        <>
          <span className="name">{labelOf(entry)}</span>
          {entry.own && <small className="sub">{t.catalog.own}</small>}
        </>
      ),
    },
    { label: t.catalog.kind, cell: (entry) => t.catalog.kinds[entry.kind] },
    {
      label: t.catalog.released,
      cell: (entry) =>
        entry.own || !canRelease ? (
          <span className="soft">{t.common.yes}</span>
        ) : (
          <input
            type="checkbox"
            aria-label={t.catalog.releaseOne(labelOf(entry))}
            checked={entry.released}
            onChange={({ currentTarget }) => onRelease(entry.id, currentTarget.checked)}
          />
        ),
    },
    {
      label: t.catalog.allowed,
      cell: (entry) => {
        const isBlocked = isBlockedFor(entry, memberBlocked);
        return (
          <>
            <input
              type="checkbox"
              aria-label={t.catalog.allow(labelOf(entry))}
              checked={!isBlocked}
              onChange={({ currentTarget }) => onBlock(entry.id, !currentTarget.checked)}
            />
            {isBlockedAbove(entry, memberBlocked) && (
              <small className="sub">{t.catalog.blockedByTeam}</small>
            )}
          </>
        );
      },
    },
  ];
}
