import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { useSession } from '../lib/session.ts';
import { Actions, Button } from '../ui/button.tsx';
import { SandboxNote } from '../ui/band.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, FormProblem, useFieldErrors } from '../ui/field.tsx';
import { RoleChoice, type Role } from './role-choice.tsx';

/** Invites somebody to the team. */
export function InviteMember({
  onDone,
  onClose,
}: {
  readonly onDone: (text: string) => Promise<void>;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const { team } = useSession();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const [lang, setLang] = useState(team.language);
  const invite = useMutation(
    api.v1.members.create.mutationOptions({
      // The field may hold another address by now.
      onSuccess: (_made, { email: sent }) => onDone(t.members.invited(sent)),
    }),
  );
  const errorOf = useFieldErrors(invite.error);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!invite.isPending) invite.mutate({ email, role, lang });
  };
  return (
    <Dialog title={t.members.invite} onClose={onClose}>
      <form className="form" onSubmit={send} noValidate>
        <Field label={t.members.email} error={errorOf('email')}>
          {(props) => (
            <input
              {...props}
              type="email"
              value={email}
              autoComplete="off"
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
          )}
        </Field>
        <RoleChoice chosen={role} error={errorOf('role')} onChoose={setRole} />
        <Field label={t.members.language}>
          {(props) => (
            <select
              {...props}
              value={lang}
              onChange={(event) => setLang(event.currentTarget.value === 'de' ? 'de' : 'en')}
            >
              <option value="de">{t.members.languages.de}</option>
              <option value="en">{t.members.languages.en}</option>
            </select>
          )}
        </Field>
        <SandboxNote>
          {t.sandbox.noMail} <Link to="/play">{t.nav.sandbox}</Link>.
        </SandboxNote>
        <FormProblem error={invite.error} fields={['email', 'role']} />
        <Actions>
          <Button onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look="main" busy={invite.isPending}>
            {t.members.sendInvitation}
          </Button>
        </Actions>
      </form>
    </Dialog>
  );
}
