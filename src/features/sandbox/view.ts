import type { z } from 'zod';
import type { sandbox } from './schema.ts';
import type { SandboxRow } from './store.ts';

/** A sandbox in the API. */
export function toSandbox({ team_id, ...row }: SandboxRow): z.input<typeof sandbox> {
  return { tenant_id: team_id, ...row };
}
