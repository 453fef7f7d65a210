import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { pagesOptions } from '../lib/pages.ts';
import { useSession } from '../lib/session.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { FormProblem } from '../ui/field.tsx';
import { announce } from '../ui/notice.tsx';
import { Badge, Loaded, PageHead } from '../ui/states.tsx';
import { More, Table, type Column } from '../ui/table.tsx';
import { ChangeMember } from './change-member.tsx';
import { InviteMember } from './invite-member.tsx';
import { nameOf, type Member } from './member-name.ts';

type Task =
  | { readonly kind: 'invite' }
  | { readonly kind: 'change' | 'remove' | 'withdraw'; readonly member: Member };

/** The team's members. */
export function MembersPage() {
  const t = useTexts();
  const cache = useQueryClient();
  const [task, setTask] = useState<Task | null>(null);
  const members = useInfiniteQuery(
    pagesOptions(api.v1.members.list.queryKey({}), (cursor) =>
      client.v1.members.list.query({ cursor, limit: 100 }),
    ),
  );
  const admins = useQuery(api.admin.team.admins.queryOptions({ limit: 200 }));
  const look = () =>
    Promise.all([
      cache.invalidateQueries(api.v1.members.pathFilter()),
      cache.invalidateQueries(api.admin.team.admins.pathFilter()),
    ]);
  const finish = (text: string) => {
    announce(text);
    setTask(null);
  };
  const refresh = async (text: string) => {
    await look();
    finish(text);
  };
  const resend = useMutation(
    api.admin.invitations.resend.mutationOptions({ onSuccess: () => refresh(t.members.resent) }),
  );
  const rightsOf = (id: string): readonly string[] =>
    admins.data?.data.find(({ member_id }) => member_id === id)?.rights ?? [];
  const close = () => setTask(null);
  return (
    <>
      <PageHead title={t.members.title} intro={t.members.intro}>
        <Button look="main" onClick={() => setTask({ kind: 'invite' })}>
          {t.members.invite}
        </Button>
      </PageHead>
      <FormProblem error={resend.error} />
      <Loaded query={members}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          return (
            <>
              <MemberTable
                members={rows}
                rightsOf={rightsOf}
                onTask={setTask}
                onResend={(member) => resend.mutate({ member_id: member.id })}
              />
              <More query={members} shown={rows.length} />
            </>
          );
        }}
      </Loaded>
      {task?.kind === 'invite' && <InviteMember onDone={refresh} onClose={close} />}
      {task?.kind === 'change' && (
        <ChangeMember
          member={task.member}
          rights={rightsOf(task.member.id)}
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

interface MemberTask {
  readonly member: Member;
  readonly onDone: (text: string) => Promise<void>;
  readonly onClose: () => void;
}

function RemoveMember({ member, onDone, onClose }: MemberTask) {
  const t = useTexts();
  const remove = useMutation(
    api.v1.members.remove.mutationOptions({ onSuccess: () => onDone(t.members.removed) }),
  );
  return (
    <Confirm
      title={t.members.removeTitle(nameOf(member))}
      hint={t.members.removeHint}
      action={t.members.remove}
      mutation={remove}
      onConfirm={() => remove.mutate({ member_id: member.id })}
      onClose={onClose}
    />
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
  rightsOf,
  onTask,
  onResend,
}: {
  readonly members: readonly Member[];
  readonly rightsOf: (id: string) => readonly string[];
  readonly onTask: (task: Task) => void;
  readonly onResend: (member: Member) => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const { member_id: ownId } = useSession();
  const columns: Column<Member>[] = [
    {
      label: t.members.who,
      kind: 'main',
      cell: (member) => (
        <span className="name" title={member.email === undefined ? t.common.withheld : undefined}>
          {nameOf(member)} {member.id === ownId && <span className="soft">{t.members.you}</span>}
        </span>
      ),
    },
    {
      label: t.members.role,
      cell: ({ id, role }) => (
        <>
          {t.roles[role as keyof typeof t.roles] ?? role}
          {rightsOf(id).length > 0 && <small className="sub">{t.members.right}</small>}
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
      cell: ({ joined_at: at }) =>
        at === null ? '–' : <time dateTime={at}>{format.day(at)}</time>,
    },
    {
      label: t.common.actions,
      kind: 'actions',
      cell: (member) => <Tasks member={member} onTask={onTask} onResend={onResend} />,
    },
  ];
  return (
    <Table caption={t.members.title} columns={columns} rows={members} keyOf={({ id }) => id} />
  );
}

function Tasks({
  member,
  onTask,
  onResend,
}: {
  readonly member: Member;
  readonly onTask: (task: Task) => void;
  readonly onResend: (member: Member) => void;
}) {
  const t = useTexts();
  const name = nameOf(member);
  const why = member.role === 'owner' ? t.members.ownerWhy : null;
  const change = (
    <Button
      why={why}
      aria-label={`${t.members.change}: ${name}`}
      onClick={() => onTask({ kind: 'change', member })}
    >
      {t.members.change}
    </Button>
  );
  if (member.status === 'invited')
    return (
      <Actions>
        {change}
        <Button aria-label={`${t.members.resend}: ${name}`} onClick={() => onResend(member)}>
          {t.members.resend}
        </Button>
        <Button
          aria-label={`${t.members.withdraw}: ${name}`}
          onClick={() => onTask({ kind: 'withdraw', member })}
        >
          {t.members.withdraw}
        </Button>
      </Actions>
    );
  return (
    <Actions>
      {change}
      <Button
        why={why}
        aria-label={`${t.members.remove}: ${name}`}
        onClick={() => onTask({ kind: 'remove', member })}
      >
        {t.members.remove}
      </Button>
    </Actions>
  );
}
