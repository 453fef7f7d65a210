import type { PageSlice } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';

const MAIL = columnsOf('SandboxMail', 'team_id');

/** A mail that nobody got. */
export type MailRow = RowOf<'SandboxMail', (typeof MAIL)[number]>;

/** Keeps a mail. */
export async function insertMail(
  db: Db,
  teamId: string,
  mail: {
    readonly id: string;
    readonly recipient: string;
    readonly subject: string;
    readonly body: string;
    readonly createdAt: Date;
  },
): Promise<void> {
  await db.prisma.sandboxMail.createMany({ data: [{ teamId, ...mail }] });
}

const LIST = statement<MailRow>(
  'sandbox.listMails',
  `select ${listed(MAIL)}
   from sandbox_mail
   where team_id = $1
     and ${isAfter(BY_CREATION, ['$3', '$4'])}
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Lists mails, newest first, after `after`. */
export function listMails(db: Db, teamId: string, { limit, after }: PageSlice): Promise<MailRow[]> {
  return db.query(LIST, [teamId, limit, ...positionValues(after)]);
}
