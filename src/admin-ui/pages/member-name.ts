import type { RouterOutputs } from '../lib/api.ts';

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
