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
