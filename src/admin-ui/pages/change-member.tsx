import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { client } from '../lib/api.ts';
import { KEY_RIGHT } from '../lib/key-right.ts';
import { useSession } from '../lib/session.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice, FormProblem } from '../ui/field.tsx';
import { changeOfRight, mayHoldRight } from './member-changes.ts';
import { nameOf, type Member } from './member-name.ts';
import { RoleChoice } from './role-choice.tsx';

/** Changes the role of a member, and the right to manage API keys. */
export function ChangeMember({
  member,
  rights,
  look,
  onDone,
  onClose,
}: {
  readonly member: Member;
  readonly rights: readonly string[];
  /** Reads the members again. */
  readonly look: () => Promise<unknown>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const isOwner = useSession().role === 'owner';
  const [role, setRole] = useState(member.role);
  const [savedRole, setSavedRole] = useState(member.role);
  const hadRight = rights.includes(KEY_RIGHT);
  const [hasRight, setRight] = useState(hadRight);
  const mayHold = mayHoldRight({ role, status: member.status });
  const saveAll = async () => {
    const right = { member_id: member.id, right: KEY_RIGHT } as const;
    if (role !== savedRole) {
      await client.v1.members.update.mutate({ member_id: member.id, role });
      setSavedRole(role);
    }
    const change = changeOfRight({ isOwner, mayHold, had: hadRight, has: hasRight });
    if (change === 'grant') await client.admin.team.grantRight.mutate(right);
    if (change === 'withdraw') await client.admin.team.withdrawRight.mutate(right);
  };
  const save = useMutation({
    mutationFn: async () => {
      try {
        await saveAll();
      } finally {
        // The role may have been saved although the right was refused.
        await look();
      }
    },
    onSuccess: onDone,
  });
  const isHalfSaved = save.error !== null && savedRole !== member.role;
  return (
    <Dialog title={t.members.changeTitle(nameOf(member))} onClose={onClose}>
      <RoleChoice chosen={role} onChoose={setRole} />
      {mayHold &&
        (isOwner ? (
          <Choice
            kind="checkbox"
            checked={hasRight}
            label={t.members.right}
            hint={t.members.rightHint}
            onChange={setRight}
          />
        ) : (
          <p className="hint">
            {t.members.right}: {hadRight ? t.common.yes : t.common.no}. {t.common.needsOwner}
          </p>
        ))}
      {isHalfSaved && <p className="notice">{t.members.roleSaved}</p>}
      <FormProblem error={save.error} />
      <Actions>
        <Button look="main" busy={save.isPending} onClick={() => save.mutate()}>
          {t.common.save}
        </Button>
        <Button onClick={onClose}>{t.common.cancel}</Button>
      </Actions>
    </Dialog>
  );
}
