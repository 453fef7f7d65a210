import type { Clock } from '../../core/clock.ts';
import { newId } from '../../core/ids.ts';
import { subjectOf, type Mailer, type TeamMailer } from '../../core/mail.ts';
import { readPage, type Page, type PageQuery } from '../../core/page.ts';
import { isSandbox } from '../../core/sandbox.ts';
import type { Db } from '../../db/client.ts';
import * as store from './mail-store.ts';
import type { MailRow } from './mail-store.ts';

/** Keeps the mails of sandboxes, and sends those of live teams by `send`. */
export function mailerOf(db: Db, clock: Clock, send: Mailer): TeamMailer {
  return async (teamId, mail) => {
    if (!isSandbox(teamId)) return send(mail);
    await db.transaction(async (tx) => {
      // Whoever has left meanwhile is forgotten. Whoever leaves now waits, and finds the mail.
      if (!(await store.holdRecipient(tx, teamId, mail.to))) return;
      store.insertMail(tx, teamId, {
        id: newId('sandboxMail'),
        recipient: mail.to,
        subject: subjectOf(mail.subject),
        body: mail.text,
        created_at: clock.now().toISOString(),
      });
    });
  };
}

/** Lists what the sandbox would have sent, newest first. */
export function listMails(db: Db, sandboxId: string, query: PageQuery): Promise<Page<MailRow>> {
  return readPage('sandbox_mails', query, (slice) => store.listMails(db, sandboxId, slice));
}
