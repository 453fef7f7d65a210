import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { useDeed } from '../lib/deeds.ts';
import {
  MEMBER_ROLES,
  MEMBER_SORT,
  MEMBER_SORTS,
  MEMBER_STATUSES,
  type MemberSort,
} from '../lib/search.ts';
import { whileUnknown } from '../lib/queries.ts';
import { useSession } from '../lib/session.ts';
import { useOfShown } from '../lib/shown.ts';
import { useTask } from '../lib/task.ts';
import { Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormProblem } from '../ui/field.tsx';
import { Filter, FilterBar, TextFilter } from '../ui/filter.tsx';
import { Menu } from '../ui/menu.tsx';
import { announce } from '../ui/notice.tsx';
import { Badge, Empty, Loaded, PageHead } from '../ui/states.tsx';
import { Table, type Column } from '../ui/table.tsx';
import { Wrappable } from '../ui/wrappable.tsx';
import { ChangeMember } from './change-member.tsx';
import { HiddenAddresses } from './hidden.tsx';
import { InviteMember } from './invite-member.tsx';
import { isAddressHidden, nameOf, type Member, type MemberTask } from './member-name.ts';
import { pagesAround, sortAfter, sortedBy, tasksOf } from './member-tasks.ts';
import { RemoveMember } from './remove-member.tsx';

const route = getRouteApi('/members');
const ROWS = 50;

type Task =
  | { readonly kind: 'invite' }
  | { readonly kind: 'change' | 'remove' | 'withdraw'; readonly member: Member };

interface TaskProps {
  /** One invitation at a time, so that the page says of each whether it could be sent. */
  readonly isResending: boolean;
  readonly onTask: (task: Task) => void;
  readonly onResend: (member: Member) => void;
}

/** The team's members. */
export function MembersPage() {
  const t = useTexts();
  const cache = useQueryClient();
  const { task, begin, close } = useTask<Task>();
  const { page: cursor, ...filters } = route.useSearch();
  const members = useQuery({
    ...api.admin.members.search.queryOptions({ ...filters, cursor, limit: ROWS }),
    placeholderData: keepPreviousData,
  });
  const sort = useOfShown(filters.sort ?? MEMBER_SORT, members.isPlaceholderData);
  useDeed('invite', () => begin({ kind: 'invite' }));
  const look = () => cache.invalidateQueries(api.admin.members.pathFilter());
  const finish = (text: string) => {
    announce(text);
    close();
  };
  const refresh = async (text: string) => {
    await look();
    finish(text);
  };
  const resend = useMutation(
    api.admin.invitations.resend.mutationOptions({
      onSuccess: async () => {
        await look();
        announce(t.members.resent);
      },
    }),
  );
  return (
    <>
      <PageHead title={t.members.title} intro={<Intro />}>
        <Button look="main" onClick={() => begin({ kind: 'invite' })}>
          {t.members.invite}
        </Button>
      </PageHead>
      <FormProblem error={resend.error} />
      <Filters shown={members.isPlaceholderData ? undefined : members.data?.data.length} />
      <Loaded query={members}>
        {({ data, next_cursor }) => (
          <>
            <HiddenAddresses people={data} />
            {data.length === 0 ? (
              <Empty title={next_cursor === null ? t.common.nothingMatches : t.members.goOn} />
            ) : (
              <MemberTable
                members={data}
                sort={sort}
                isResending={resend.isPending}
                onTask={begin}
                onResend={(member) => resend.mutate({ member_id: member.id })}
              />
            )}
            <Pages next={next_cursor} />
          </>
        )}
      </Loaded>
      {task?.kind === 'invite' && <InviteMember onDone={refresh} onClose={close} />}
      {task?.kind === 'change' && (
        <ChangeMember
          member={task.member}
          rights={task.member.rights}
          look={look}
          onDone={() => finish(t.members.changed)}
          onClose={close}
        />
      )}
      {task?.kind === 'remove' && (
        <RemoveMember member={task.member} onDone={refresh} onClose={close} />
      )}
      {task?.kind === 'withdraw' && (
        <WithdrawInvitation member={task.member} onDone={refresh} onClose={close} />
      )}
    </>
  );
}

/** What the page is for, and how many seats are left. */
function Intro() {
  const t = useTexts();
  const format = useFormat();
  const seats = useQuery(api.admin.members.seats.queryOptions({}));
  if (!seats.data) return t.members.intro;
  const { used, seats: all } = seats.data;
  return `${t.members.intro} ${t.members.seats(format.number(used), format.number(all))}`;
}

function Filters({ shown }: { readonly shown: number | undefined }) {
  const t = useTexts();
  const { page, ...search } = route.useSearch();
  const { text, role, status } = search;
  const seats = useQuery(api.admin.members.seats.queryOptions({}));
  const isAll = text === undefined && role === undefined && status === undefined;
  return (
    <FilterBar
      search={search}
      navigate={route.useNavigate()}
      shown={shown}
      total={isAll ? whileUnknown(seats, null)?.used : undefined}
      page={page}
    >
      {(_, set) => (
        <>
          <TextFilter
            label={t.members.find}
            value={search.text}
            placeholder="kim@"
            onChange={(text) => set({ text })}
          />
          <Filter
            label={t.members.role}
            value={search.role}
            options={MEMBER_ROLES.map((role) => [role, t.roles[role]])}
            onChange={(role) => set({ role })}
          />
          <Filter
            label={t.members.status}
            value={search.status}
            options={MEMBER_STATUSES.map((status) => [
              status,
              t.members.statuses[status] ?? status,
            ])}
            onChange={(status) => set({ status })}
          />
          <Filter
            label={t.members.sort}
            value={search.sort ?? MEMBER_SORT}
            options={MEMBER_SORTS.map((sort) => [sort, t.members.sorts[sort]])}
            isRequired
            onChange={(sort) => set({ sort: sort === MEMBER_SORT ? undefined : sort })}
          />
        </>
      )}
    </FilterBar>
  );
}

/** The pages around this one. They are in the address, so Back and a reload keep the place. */
function Pages({ next }: { readonly next: string | null }) {
  const t = useTexts();
  const around = pagesAround(route.useSearch(), next);
  if (around.first === null && around.next === null) return null;
  return (
    <nav className="more" aria-label={t.members.pages}>
      {around.first !== null && (
        <Link to="/members" search={around.first} className="button plain">
          {t.members.firstPage}
        </Link>
      )}
      {around.next !== null && (
        <Link to="/members" search={around.next} className="button plain">
          {t.members.nextPage}
        </Link>
      )}
    </nav>
  );
}

function WithdrawInvitation({ member, onDone, onClose }: MemberTask) {
  const t = useTexts();
  const withdraw = useMutation(
    api.admin.invitations.withdraw.mutationOptions({
      onSuccess: () => onDone(t.members.withdrawn),
    }),
  );
  return (
    <Confirm
      title={t.members.withdrawTitle(nameOf(member))}
      hint={t.members.withdrawHint}
      action={t.members.withdraw}
      mutation={withdraw}
      onConfirm={() => withdraw.mutate({ member_id: member.id })}
      onClose={onClose}
    />
  );
}

function MemberTable({
  members,
  sort,
  ...tasks
}: {
  readonly members: readonly Member[];
  readonly sort: MemberSort;
} & TaskProps) {
  const t = useTexts();
  const format = useFormat();
  const { member_id: ownId } = useSession();
  const sorted = sortedBy(sort);
  const navigate = route.useNavigate();
  const { page: _, ...filters } = route.useSearch();
  const by = (column: Parameters<typeof sortAfter>[0]) => ({
    sorted: sorted[column],
    onSort: () =>
      void navigate({ search: { ...filters, sort: sortAfter(column, sort) }, replace: true }),
  });
  const columns: Column<Member>[] = [
    {
      label: t.members.who,
      kind: 'main',
      // Addresses that are withheld are in no order.
      ...(isAddressHidden(members) ? {} : by('who')),
      cell: (member) => (
        <Link
          to="/members/$memberId"
          params={{ memberId: member.id }}
          className="name"
          title={member.email === undefined ? t.common.withheld : undefined}
        >
          <Wrappable text={nameOf(member)} />{' '}
          {member.id === ownId && <span className="soft">{t.members.you}</span>}
        </Link>
      ),
    },
    {
      label: t.members.role,
      ...by('role'),
      cell: ({ role, rights }) => (
        <>
          {t.roles[role as keyof typeof t.roles] ?? role}{' '}
          {rights.length > 0 && <small className="sub beside-role">{t.members.right}</small>}
        </>
      ),
    },
    {
      label: t.members.status,
      cell: ({ status }) => (
        <Badge tone={status === 'active' ? 'good' : 'warn'}>
          {t.members.statuses[status] ?? status}
        </Badge>
      ),
    },
    {
      label: t.members.since,
      ...by('since'),
      cell: ({ joined_at: at }) =>
        at === null ? '–' : <time dateTime={at}>{format.day(at)}</time>,
    },
    {
      label: t.common.actions,
      kind: 'actions',
      cell: (member) => <Tasks member={member} {...tasks} />,
    },
  ];
  return (
    <Table
      caption={t.members.title}
      columns={columns}
      rows={members}
      keyOf={({ id }) => id}
      isDense
    />
  );
}

function Tasks({ member, isResending, onTask, onResend }: TaskProps & { readonly member: Member }) {
  const t = useTexts();
  return (
    <Menu label={`${t.common.actions}: ${nameOf(member)}`}>
      {tasksOf(member).map(({ kind, isOff }) => (
        <Button
          key={kind}
          look="item"
          busy={kind === 'resend' && isResending}
          why={isOff ? t.members.ownerWhy : null}
          onClick={() => (kind === 'resend' ? onResend(member) : onTask({ kind, member }))}
        >
          {t.members[kind]}
        </Button>
      ))}
      <Link to="/audit" search={{ target: member.id }} className="button item">
        {t.member.history}
      </Link>
    </Menu>
  );
}
