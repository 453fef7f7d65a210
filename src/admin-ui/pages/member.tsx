import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { atLeast } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { useSaid } from '../lib/failed-reads.ts';
import { problemOf } from '../lib/problem.ts';
import type { QueryLike } from '../lib/queries.ts';
import { useSession } from '../lib/session.ts';
import { Crumbs } from '../ui/crumbs.tsx';
import { Missing } from '../ui/not-found.tsx';
import { Badge, Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { AuditTable } from './audit.tsx';
import { HiddenAddresses } from './hidden.tsx';
import { nameOfKey } from './key-name.ts';
import { liveKeys } from './key-queries.ts';
import type { ApiKey } from './key-state.ts';
import { countByStatus } from './member-figures.ts';
import { keysOf, nameOf, type Member } from './member-name.ts';

const route = getRouteApi('/members/$memberId');
/** How many entries of the audit log are shown, and how many assignments are counted. */
const ENTRIES = 10;
const COUNTED = 200;

const assignmentsOf = (memberId: string) =>
  api.v1.assignments.list.queryOptions({ member_id: memberId, limit: COUNTED });
const entriesAbout = (memberId: string) =>
  api.admin.auditLog.list.queryOptions({ target_id: memberId, limit: ENTRIES });

/** One member: what they may do, what they have made, and what was done about them. */
export function MemberPage() {
  const { memberId } = route.useParams();
  const t = useTexts();
  // A part of another id can be the whole of this one.
  const found = useQuery(api.admin.members.search.queryOptions({ text: memberId, limit: 50 }));
  // The parts are shown together: one that came later would move those below it.
  const keys = useQuery(liveKeys());
  const assignments = useQuery(assignmentsOf(memberId));
  const entries = useQuery(entriesAbout(memberId));
  const isWaiting = keys.isPending || assignments.isPending || entries.isPending;
  return (
    <>
      <Crumbs to="/members">{t.members.title}</Crumbs>
      <Loaded query={found} isWaiting={isWaiting} heading={t.finder.member}>
        {({ data }) => {
          const member = data.find(({ id }) => id === memberId);
          return (
            <>
              {member ? <Known member={member} /> : <Gone memberId={memberId} />}
              <History memberId={memberId} people={data} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** Somebody who left, or never was here. What the audit log says of them stays. */
function Gone({ memberId }: { readonly memberId: string }) {
  const t = useTexts();
  return (
    <Missing title={t.member.missing} id={memberId} hint={t.member.missingHint} error={null}>
      <Link to="/members">{t.member.toList}</Link>
    </Missing>
  );
}

function Known({ member }: { readonly member: Member }) {
  const t = useTexts();
  const format = useFormat();
  const { member_id: ownId } = useSession();
  const { id, role, rights, status, joined_at: at } = member;
  return (
    <>
      <PageHead
        title={`${nameOf(member)}${id === ownId ? ` ${t.members.you}` : ''}`}
        intro={<code>{id}</code>}
      />
      <HiddenAddresses people={[member]} />
      <dl className="facts pairs">
        <dt>{t.members.role}</dt>
        <dd>
          {t.roles[role as keyof typeof t.roles] ?? role}
          {rights.length > 0 && <small className="sub">{t.members.right}</small>}
        </dd>
        <dt>{t.members.status}</dt>
        <dd>
          <Badge tone={status === 'active' ? 'good' : 'warn'}>
            {t.members.statuses[status] ?? status}
          </Badge>
        </dd>
        <dt>{t.members.since}</dt>
        <dd>{at === null ? '–' : <time dateTime={at}>{format.day(at)}</time>}</dd>
      </dl>
      <Keys memberId={id} />
      <Assignments memberId={id} />
    </>
  );
}

function Keys({ memberId }: { readonly memberId: string }) {
  const t = useTexts();
  const keys = useQuery(liveKeys());
  return (
    <section className="section">
      <h2>{t.member.keys}</h2>
      <Loaded query={keys} rows={1}>
        {({ data }) => {
          const own = keysOf(memberId, data);
          return own.length === 0 ? (
            <p className="soft">{t.members.leaverNoKey}</p>
          ) : (
            <KeyTable keys={own} />
          );
        }}
      </Loaded>
    </section>
  );
}

function KeyTable({ keys }: { readonly keys: readonly ApiKey[] }) {
  const t = useTexts();
  const format = useFormat();
  return (
    <Table
      caption={t.member.keys}
      rows={keys}
      keyOf={({ id }) => id}
      isDense
      columns={[
        {
          label: t.keys.name,
          kind: 'main',
          cell: ({ id, name }) => (
            <Link to="/usage" search={{ key: id }} className="name">
              {nameOfKey(t, name)}
              <span className="visually-hidden">: {t.usage.title}</span>
            </Link>
          ),
        },
        { label: t.keys.scopes, cell: ({ scopes }) => t.keys.countScopes(scopes.length) },
        {
          label: t.keys.lastUsed,
          cell: ({ last_used_at: at }) =>
            at === null ? t.common.unknown : <time dateTime={at}>{format.ago(at)}</time>,
        },
      ]}
    />
  );
}

/** How many there are by their state. The privacy switch may withhold them. */
function Assignments({ memberId }: { readonly memberId: string }) {
  const t = useTexts();
  const format = useFormat();
  const assignments = useQuery(assignmentsOf(memberId));
  const isWithheld = problemOf(assignments.error).code === 'privacy_restricted';
  return (
    <section className="section">
      <h2>{t.member.assignments}</h2>
      {isWithheld ? (
        <Withheld query={assignments} />
      ) : (
        <Loaded query={assignments} rows={1}>
          {({ data, next_cursor }) =>
            data.length === 0 && next_cursor === null ? (
              <p className="soft">{t.member.noAssignment}</p>
            ) : (
              <dl className="facts pairs">
                {countByStatus(data).map(([status, count]) => [
                  <dt key={`${status} name`}>{t.member.assignmentStates[status] ?? status}</dt>,
                  <dd key={status}>{atLeast(count, next_cursor !== null, t, format)}</dd>,
                ])}
              </dl>
            )
          }
        </Loaded>
      )}
    </section>
  );
}

function Withheld({ query: { error } }: { readonly query: QueryLike<unknown> }) {
  const t = useTexts();
  useSaid(error);
  return (
    <p className="notice">
      {t.common.withheld} <Link to="/privacy">{t.members.hiddenWhere}</Link>
    </p>
  );
}

/** The last entries of the audit log about them. */
function History({
  memberId,
  people,
}: {
  readonly memberId: string;
  /** Those whose names are known. */
  readonly people: readonly Member[];
}) {
  const t = useTexts();
  const nameKnown = (id: string) => {
    const known = people.find((one) => one.id === id);
    return known && nameOf(known);
  };
  const entries = useQuery(entriesAbout(memberId));
  return (
    <section className="section">
      <h2>{t.member.history}</h2>
      <Loaded query={entries} rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t.member.noHistory} />
          ) : (
            <AuditTable entries={data} nameOf={nameKnown} />
          )
        }
      </Loaded>
      <p className="after links">
        <Link to="/audit" search={{ target: memberId }}>
          {t.member.allAbout}
        </Link>{' '}
        <Link to="/audit" search={{ actor: memberId }}>
          {t.member.allBy}
        </Link>
      </p>
    </section>
  );
}
