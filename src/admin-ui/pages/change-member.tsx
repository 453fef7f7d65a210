import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { client } from '../lib/api.ts';
import { KEY_RIGHT } from '../lib/key-right.ts';
import { changedMeanwhile } from '../lib/problem.ts';
import { useSession } from '../lib/session.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice, FormProblem } from '../ui/field.tsx';
import { changeOfRight, mayHoldRight } from './member-changes.ts';
import { nameOf, type Member } from './member-name.ts';
import { RoleChoice } from './role-choice.tsx';

interface Known {
  readonly role: string | null;
  readonly hasRight: boolean | null;
}

const UNKNOWN: Known = { role: null, hasRight: null };

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
  const hadRight = rights.includes(KEY_RIGHT);
  const [hasRight, setRight] = useState(hadRight);
  const mayHold = mayHoldRight({ role, status: member.status });
  const { save, news, known } = useSave({ member, role, hadRight, hasRight, look, onDone });
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
      {news === 'saved' && <p className="notice">{t.members.roleSaved}</p>}
      {news === 'theirs' && (
        <p className="notice">
          {t.members.role}: {t.roles[known.role as keyof typeof t.roles]}
        </p>
      )}
      <FormProblem error={save.error} />
      <Actions>
        <Button onClick={onClose}>{t.common.cancel}</Button>
        <Button look="main" busy={save.isPending} onClick={() => save.mutate()}>
          {t.common.save}
        </Button>
      </Actions>
    </Dialog>
  );
}

/** Saves the role, then the right. `news`: what has become of the role, if not all was saved. */
function useSave({
  member,
  role,
  hadRight,
  hasRight,
  look,
  onDone,
}: {
  readonly member: Member;
  readonly role: string;
  readonly hadRight: boolean;
  readonly hasRight: boolean;
  readonly look: () => Promise<unknown>;
  readonly onDone: () => void;
}) {
  const isOwner = useSession().role === 'owner';
  /** What the reader knows of the member; null: an answer was lost, so nobody knows it. */
  const [known, setKnown] = useState<Known>({ role: member.role, hasRight: hadRight });
  const [news, setNews] = useState<'saved' | 'theirs' | null>(null);
  const saveAll = async () => {
    const who = { member_id: member.id };
    const right = { ...who, right: KEY_RIGHT } as const;
    const { role: now } = await client.v1.members.get.query(who);
    let had = now === known.role ? known.hasRight : null;
    if (known.role !== null && now !== known.role && now !== role) {
      setKnown({ role: now, hasRight: null });
      setNews('theirs');
      throw changedMeanwhile();
    }
    if (now !== role) {
      setKnown(UNKNOWN);
      setNews(null);
      await client.v1.members.update.mutate({ ...who, role });
      // Another role has no right yet.
      had = false;
      setNews('saved');
    }
    const mayHold = mayHoldRight({ role, status: member.status });
    const change = changeOfRight({ isOwner, mayHold, had, has: hasRight });
    setKnown({ role, hasRight: change === null ? had : null });
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
  return { save, known, news: save.error && news };
}
