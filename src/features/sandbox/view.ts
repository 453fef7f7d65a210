import type { z } from 'zod';
import type { MailRow } from './mail-store.ts';
import type { simulation } from './play-schema.ts';
import type { sandbox, sandboxMail } from './schema.ts';
import type { SandboxRow } from './store.ts';

/** A sandbox in the API. */
export function toSandbox({ team_id, ...row }: SandboxRow): z.input<typeof sandbox> {
  return { tenant_id: team_id, ...row };
}

/** What a play has made. What is left out there is null here. */
export interface PlayedRow {
  readonly play: string;
  readonly events: readonly string[];
  readonly trainingId?: string;
  readonly memberId?: string;
  readonly connectionId?: string;
  readonly evaluationAt?: Date;
  readonly until?: Date;
}

export function toSimulation(played: PlayedRow): z.input<typeof simulation> {
  return {
    play: played.play,
    training_id: played.trainingId ?? null,
    member_id: played.memberId ?? null,
    connection_id: played.connectionId ?? null,
    events: [...played.events],
    evaluation_at: played.evaluationAt?.toISOString() ?? null,
    until: played.until?.toISOString() ?? null,
  };
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
