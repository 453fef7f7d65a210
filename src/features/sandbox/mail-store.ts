import type { PageSlice } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { columnsOf, listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';
import { MAILS_MAX } from './rules.ts';
import { lowered } from '../../db/lowered.ts';

const MAIL = columnsOf('SandboxMail', 'team_id');

/** A mail that nobody got. */
export type MailRow = RowOf<'SandboxMail', (typeof MAIL)[number]>;

const NEW_ID = `$${2 + MAIL.indexOf('id')}`;
const REMOVED_AT_ONCE = 100;

// The deletion counts without the new mail, which Postgres does not see there but Citus does. One
// goes as a rule; more of them only bit by bit.
const INSERT = statement(
  'sandbox.insertMail',
  `with kept as (
     insert into sandbox_mail (team_id, ${listed(MAIL)})
     values ($1, ${parameters(MAIL, 2)})
   )
   delete from sandbox_mail
   where team_id = $1
     and id = any (array(
       select id
       from sandbox_mail
       where team_id = $1 and id <> ${NEW_ID}
       order by created_at desc, id desc
       limit ${REMOVED_AT_ONCE} offset ${MAILS_MAX - 1}
     ))`,
);

/** Keeps a mail. Of too many, the oldest go. */
export function insertMail(tx: Tx, teamId: string, mail: MailRow): void {
  tx.send(INSERT, [teamId, ...valuesIn(MAIL, mail)]);
}

// The end of a membership waits for this lock, and not for a weaker one.
/** Keeps whoever has this address a member until the transaction ends. False if nobody has it. */
export const holdRecipient = statement<{ readonly id: string }>(
  'sandbox.holdRecipient',
  `select id
   from member
   where team_id = $1 and ${lowered('email')} = ${lowered('$2')} and status <> 'ended'
   for share`,
).matches<[tx: Tx, teamId: string, address: string]>();

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
