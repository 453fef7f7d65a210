/** What is saved of a member: see `change-member.tsx`. */

/** Whether a member with this role can hold the right to manage API keys. */
export function mayHoldRight({
  role,
  status,
}: {
  readonly role: string;
  readonly status: string;
}): boolean {
  return role === 'admin' && status === 'active';
}

/** What becomes of the right. Only the owner can grant it; null: nothing. `had`: null: unknown. */
export function changeOfRight({
  isOwner,
  mayHold,
  had,
  has,
}: {
  readonly isOwner: boolean;
  readonly mayHold: boolean;
  readonly had: boolean | null;
  readonly has: boolean;
}): 'grant' | 'withdraw' | null {
  if (!isOwner || !mayHold || has === had) return null;
  return has ? 'grant' : 'withdraw';
}
