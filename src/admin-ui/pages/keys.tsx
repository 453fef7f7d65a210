import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { beginOfKey } from '../lib/ids.ts';
import { pagesOptions } from '../lib/pages.ts';
import { alongWith } from '../lib/queries.ts';
import { useWhyNotKeys } from '../lib/rights.ts';
import { useSession } from '../lib/session.ts';
import { useTask } from '../lib/task.ts';
import { Actions, Button } from '../ui/button.tsx';
import { SandboxNote } from '../ui/band.tsx';
import { Choice } from '../ui/field.tsx';
import { Badge, Empty, Loaded, PageHead, Summary } from '../ui/states.tsx';
import { FilterBar } from '../ui/filter.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { EndKey } from './end-key.tsx';
import { HiddenAddresses } from './hidden.tsx';
import { canRotate, endOfKey, keysToShow, toneOfKey, whoMade } from './key-list.ts';
import { nameOfKey } from './key-name.ts';
import { liveKeys } from './key-queries.ts';
import { stateOf, wasNeverSeen, type ApiKey } from './key-state.ts';
import { RotateKey } from './rotate-key.tsx';

const route = getRouteApi('/keys');

type Task = { readonly kind: 'rotate' | 'revoke'; readonly key: ApiKey };

/** The team's API keys. */
export function KeysPage() {
  const t = useTexts();
  const why = useWhyNotKeys();
  const search = route.useSearch();
  const { ended = false } = search;
  const navigate = route.useNavigate();
  const { task, begin, close } = useTask<Task>();
  const live = useQuery(liveKeys());
  const keys = useInfiniteQuery(
    pagesOptions(api.admin.apiKeys.list.queryKey({}), (cursor) =>
      client.admin.apiKeys.list.query({ cursor, limit: 100 }),
    ),
  );
  return (
    <>
      <PageHead title={t.keys.title} intro={t.keys.intro}>
        {why === null ? (
          <Link to="/keys/new" className="button main">
            {t.keys.create}
          </Link>
        ) : (
          <Button look="main" why={why}>
            {t.keys.create}
          </Button>
        )}
      </PageHead>
      <SandboxNote>{t.sandbox.keysNote}</SandboxNote>
      {why !== null && <p className="notice">{why}</p>}
      <Loaded query={alongWith(keys, live)}>
        {([{ pages }, { data }]) => {
          const newest = pages.flatMap((page) => page.data);
          const { shown, hasEnded } = keysToShow({ live: data, newest }, ended);
          return (
            <>
              <HiddenAddresses people={shown.map(({ creator }) => creator)} />
              {hasEnded && (
                <FilterBar search={search} navigate={navigate} shown={shown.length}>
                  {(_, set) => (
                    <Choice
                      kind="checkbox"
                      checked={ended}
                      label={t.keys.showEnded}
                      onChange={(checked) => set({ ended: checked || undefined })}
                    />
                  )}
                </FilterBar>
              )}
              {shown.length === 0 ? (
                <Empty title={t.keys.empty} hint={t.keys.emptyHint} />
              ) : (
                <KeyTable keys={shown} onTask={begin} />
              )}
              {ended && keys.hasNextPage && <More query={keys} shown={shown.length} />}
            </>
          );
        }}
      </Loaded>
      {task?.kind === 'rotate' && <RotateKey apiKey={task.key} onClose={close} />}
      {task?.kind === 'revoke' && <EndKey apiKey={task.key} onClose={close} />}
    </>
  );
}

function KeyTable({
  keys,
  onTask,
}: {
  readonly keys: readonly ApiKey[];
  readonly onTask: (task: Task) => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const columns: Column<ApiKey>[] = [
    {
      label: t.keys.name,
      kind: 'main',
      cell: (key) => (
        <>
          <span className="name">{nameOfKey(t, key.name)}</span>
          <code className="sub">
            {beginOfKey(key.prefix)}
            <wbr />
            {key.prefix}
          </code>
        </>
      ),
    },
    { label: t.keys.state, cell: (key) => <KeyState apiKey={key} /> },
    {
      label: t.keys.scopes,
      cell: (key) => <KeyScopes apiKey={key} />,
    },
    {
      label: t.keys.lastUsed,
      cell: ({ id, name, last_used_at }) => (
        <>
          {last_used_at === null ? (
            <span className="soft">{t.common.unknown}</span>
          ) : (
            <time dateTime={last_used_at} title={format.moment(last_used_at)}>
              {format.ago(last_used_at)}
            </time>
          )}
          <small className="sub">
            <Link to="/requests" search={{ key: id }} aria-label={`${t.requests.ofKey}: ${name}`}>
              {t.requests.ofKey}
            </Link>
          </small>
        </>
      ),
    },
    { label: t.keys.created, cell: (key) => <Created apiKey={key} /> },
    {
      label: t.common.actions,
      kind: 'actions',
      cell: (key) => key.state === 'active' && <KeyActions apiKey={key} onTask={onTask} />,
    },
  ];
  return (
    <Table
      caption={t.keys.title}
      columns={columns}
      rows={keys}
      keyOf={({ id }) => id}
      isFaded={({ state }) => state !== 'active'}
    />
  );
}

function KeyScopes({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useTexts();
  const format = useFormat();
  const { scopes, allowed_ips } = apiKey;
  return (
    <>
      <details className="scopes">
        <Summary of={nameOfKey(t, apiKey.name)}>{t.keys.countScopes(scopes.length)}</Summary>
        <ul>
          {scopes.map((scope) => (
            <li key={scope}>{t.keys.scopeNames[scope] ?? scope}</li>
          ))}
        </ul>
      </details>
      <small className="sub free">
        {allowed_ips === null ? t.keys.anyAddress : t.keys.onlyFrom(format.list(allowed_ips))}
      </small>
    </>
  );
}

function KeyActions({
  apiKey,
  onTask,
}: {
  readonly apiKey: ApiKey;
  readonly onTask: (task: Task) => void;
}) {
  const t = useTexts();
  const why = useWhyNotKeys();
  return (
    <Actions>
      <Button
        why={why ?? (canRotate(apiKey) ? null : t.keys.cannotRotate)}
        aria-label={`${t.keys.rotate}: ${apiKey.name}`}
        onClick={() => onTask({ kind: 'rotate', key: apiKey })}
      >
        {t.keys.rotate}
      </Button>
      <Button
        why={why}
        aria-label={`${t.keys.revoke}: ${apiKey.name}`}
        onClick={() => onTask({ kind: 'revoke', key: apiKey })}
      >
        {t.keys.revoke}
      </Button>
    </Actions>
  );
}

function KeyState({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useTexts();
  const format = useFormat();
  const end = endOfKey(apiKey);
  return (
    <>
      <Badge tone={toneOfKey(apiKey)}>{t.keys.states[stateOf(apiKey)]}</Badge>
      {wasNeverSeen(apiKey) && <small className="sub">{t.keys.neverStored}</small>}
      {end !== null && (
        <small className="sub">
          {(end.isOver ? t.keys.endedAt : t.keys.endsAt)(format.moment(end.at))}
        </small>
      )}
    </>
  );
}

function Created({ apiKey }: { readonly apiKey: ApiKey }) {
  const t = useTexts();
  const format = useFormat();
  const { member_id } = useSession();
  const { creator, created_at } = apiKey;
  const { isReader, email } = whoMade(creator, member_id);
  const who = isReader ? t.keys.you : email;
  return (
    <>
      <time dateTime={created_at}>{format.day(created_at)}</time>
      {who ? (
        <small className="sub free">{who}</small>
      ) : (
        <small className="sub" title={t.common.withheld}>
          {creator.member_id}
        </small>
      )}
    </>
  );
}
