import type { RouterOutputs } from '../lib/api.ts';
import type { ApiKey } from './key-state.ts';

export type Member = RouterOutputs['admin']['members']['search']['data'][number];

/** What is being done with a member, in a dialog. */
export interface MemberTask {
  readonly member: Member;
  readonly onDone: (text: string) => Promise<void>;
  readonly onClose: () => void;
}

/** How a member is called on the page: by email, or by id while emails are withheld. */
export const nameOf = ({ email, user_id, id }: Pick<Member, 'email' | 'user_id' | 'id'>): string =>
  email ?? user_id ?? id;

/** The person typed, in any case: undefined, if nobody was; null, if it is none of `people`. */
export function personTyped(typed: string, people: readonly Member[]): string | undefined | null {
  if (typed === '') return undefined;
  const wanted = typed.toLowerCase();
  return people.find((one) => nameOf(one).toLowerCase() === wanted)?.id ?? null;
}

/** The keys of a member that go on working without them. */
export function keysOf<Key extends Pick<ApiKey, 'state' | 'creator'>>(
  memberId: string,
  keys: readonly Key[],
): readonly Key[] {
  return keys.filter(({ state, creator }) => state === 'active' && creator.member_id === memberId);
}

/** Whether the addresses of some people are withheld. null: a person without one. */
export function isAddressHidden(
  people: readonly { readonly email?: string | null | undefined }[],
): boolean {
  return people.some(({ email }) => email === undefined);
}
