import type { z } from 'zod';
import type { MailRow } from './mail-store.ts';
import type { sandbox, sandboxMail } from './schema.ts';
import type { SandboxRow } from './store.ts';

/** A sandbox with the time at which it goes. */
type Shown = Omit<SandboxRow, 'warned_at'> & { readonly removal_at: string | null };

/** A sandbox in the API. */
export function toSandbox({ team_id, ...row }: Shown): z.input<typeof sandbox> {
  return { tenant_id: team_id, ...row };
}

/** A mail of a sandbox in the API. */
export function toMail({
  id,
  recipient,
  subject,
  body,
  created_at,
}: MailRow): z.input<typeof sandboxMail> {
  return { id, to: recipient, subject, body, created_at };
}
