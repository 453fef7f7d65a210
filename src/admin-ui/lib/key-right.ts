import type { Access } from '../../core/access.ts';

/** The right to manage API keys. The owner has it always. */
export const KEY_RIGHT = 'schnittstellen' as const;

export function mayManageKeys({
  role,
  rights,
}: {
  readonly role: string;
  readonly rights: readonly string[];
}): boolean {
  return role === 'owner' || rights.includes(KEY_RIGHT);
}

/** Who may withdraw a link, by what it hands over. The service declares the same. */
export const ACCESS_TO_WITHDRAW = {
  key: 'schnittstellen',
  endpoint: 'admins',
} as const satisfies Readonly<Record<string, Access>>;
