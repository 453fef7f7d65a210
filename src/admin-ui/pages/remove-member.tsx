import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useFormat } from '../i18n/format.ts';
import { atLeast } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { alongWith, type QueryLike } from '../lib/queries.ts';
import { Confirm } from '../ui/confirm.tsx';
import { Loaded } from '../ui/states.tsx';
import { nameOfKey } from './key-name.ts';
import { liveKeys, type NamedKey } from './key-queries.ts';
import { keysOf, nameOf, type Member, type MemberTask } from './member-name.ts';

/** Removes somebody who leaves, and shows what they have: rights, open assignments, keys. */
export function RemoveMember({ member, onDone, onClose }: MemberTask) {
  const t = useTexts();
  const remove = useMutation(
    api.v1.members.remove.mutationOptions({ onSuccess: () => onDone(t.members.removed) }),
  );
  const leaver = useQuery({
    ...api.admin.members.leaver.queryOptions({ member_id: member.id }),
    // Who is gone cannot be asked about.
    enabled: !remove.isPending,
  });
  return (
    <Confirm
      title={t.members.removeTitle(nameOf(member))}
      hint={t.members.removeHint}
      action={t.members.remove}
      // Nobody confirms before the dialog says what is lost, nor while it asks about the member.
      mutation={{ isPending: remove.isPending || leaver.isFetching, error: remove.error }}
      onConfirm={() => remove.mutate({ member_id: member.id })}
      onClose={onClose}
    >
      <Holdings member={member} leaver={leaver} />
    </Confirm>
  );
}

function Holdings({
  member: { id, rights },
  leaver,
}: {
  readonly member: Member;
  readonly leaver: QueryLike<RouterOutputs['admin']['members']['leaver']>;
}) {
  const t = useTexts();
  const format = useFormat();
  const keys = useQuery(liveKeys());
  return (
    <Loaded query={alongWith(leaver, keys)} rows={1}>
      {([{ open_assignments: open, has_more }, { data }]) => (
        <ul className="bullets">
          <li>{rights.length > 0 ? t.members.leaverRight : t.members.leaverNoRight}</li>
          <li>
            {open === undefined || has_more === undefined
              ? t.common.withheld
              : t.members.leaverOpen(open, atLeast(open, has_more, t, format))}
          </li>
          <li>
            <OwnKeys keys={keysOf(id, data)} />
          </li>
        </ul>
      )}
    </Loaded>
  );
}

function OwnKeys({ keys }: { readonly keys: readonly NamedKey[] }) {
  const t = useTexts();
  const format = useFormat();
  if (keys.length === 0) return t.members.leaverNoKey;
  const names = format.list(keys.map(({ name }) => nameOfKey(t, name)));
  return (
    <>
      {t.members.leaverKeys(keys.length, names)} <Link to="/keys">{t.members.leaverToKeys}</Link>
    </>
  );
}
