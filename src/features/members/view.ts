import type { z } from 'zod';
import type { Language } from '../../core/language.ts';
import { oneLine, type Mail, type MailRecipient } from '../../core/mail.ts';
import type { foundMember, member } from './schema.ts';
import type { FoundMember } from './search-store.ts';
import type { MemberRow } from './store.ts';

/** A member as the API shows it. */
export function toMember(row: MemberRow): z.input<typeof member> {
  const { id, user_id, email, role, status, joined_at } = row;
  return { id, user_id, email, role, status, joined_at };
}

/** A member with their rights. */
export function toFoundMember(row: FoundMember): z.input<typeof foundMember> {
  return { ...toMember(row), rights: [...row.rights] };
}

/** `end`: what follows the last sentence, a full stop or the page to sign in at. */
const INVITATION: Record<Language, (team: string, end: string) => Omit<Mail, 'to'>> = {
  de: (team, end) => ({
    subject: `Einladung ins Team ${team}`,
    text: `Guten Tag,

das Team „${team}“ hat Sie zum Verkaufstraining eingeladen.
Melden Sie sich dort mit dieser E-Mail-Adresse an, um die Einladung anzunehmen${end}
`,
  }),
  en: (team, end) => ({
    subject: `Invitation to the team ${team}`,
    text: `Hello,

the team "${team}" has invited you to its sales training.
Sign in there with this email address to accept the invitation${end}
`,
  }),
};

/**
 * The invitation mail in the language of the invitation. `url`: where the host application lets
 * invited people sign in; without it, the mail has no link.
 */
export function toInvitationMail(invitation: MailRecipient, url: string | undefined): Mail {
  const team = oneLine(invitation.team_name);
  const end = url === undefined ? '.' : `:\n${url}`;
  return { to: invitation.email, ...INVITATION[invitation.language](team, end) };
}
