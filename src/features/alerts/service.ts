import type { Clock } from '../../core/clock.ts';
import type { Mail } from '../../core/mail.ts';
import type { Db, Tx } from '../../db/client.ts';
import { workOnDue } from '../../db/due-rows.ts';
import { enqueue } from '../../db/outbox.ts';
import { listEndingKeys } from '../api-keys/service.ts';
import { listDays } from '../usage/service.ts';
import { listFailingEndpoints } from '../webhook-endpoints/service.ts';
import { writeDigest, type MailSettings } from './digest-mail.ts';
import { SEND_ALERT_MAIL } from './jobs.ts';
import * as rules from './rules.ts';
import type { Alert, Kind } from './rules.ts';
import * as store from './store.ts';
import type { DueRow, SubscriptionKey } from './store.ts';

/** The kinds of alerts that the member gets. */
export async function getKinds(db: Db, key: SubscriptionKey): Promise<Kind[]> {
  return (await store.findKinds(db, key)).filter(rules.isKind);
}

/** Replaces the kinds of alerts that the member gets, and returns them. */
export async function setKinds(
  db: Db,
  clock: Clock,
  key: SubscriptionKey,
  wanted: readonly Kind[],
): Promise<Kind[]> {
  const kinds = rules.inOrder(wanted);
  await store.setKinds(db, key, { kinds, at: clock.now() });
  return kinds;
}

/**
 * Looks for new alerts of all subscriptions that are due, each in a transaction of its own, and
 * enqueues the mails. Several may run at once: each subscription is looked at by one of them. If
 * one fails, the others go on, and then an error is thrown.
 */
export async function enqueueDigests(db: Db, clock: Clock, signal?: AbortSignal): Promise<void> {
  const now = clock.now();
  await workOnDue<DueRow>({
    list: (slice) => store.listDue(db, now, slice),
    work: ({ team_id: teamId, member_id: memberId }) =>
      enqueueDigest(db, clock, { teamId, memberId }),
    isOver: () => signal?.aborted === true,
    failure: 'Some alerts were not looked for.',
  });
}

async function enqueueDigest(db: Db, clock: Clock, key: SubscriptionKey): Promise<void> {
  await db.transaction(async (tx) => {
    const now = clock.now();
    const taken = await store.takeDue(tx, key, now);
    if (!taken) return;
    if (!taken.is_admin || taken.kinds.length === 0) {
      await store.removeTaken(tx, key);
      return;
    }
    if (!taken.is_open) {
      await store.updateTaken(tx, key, {
        nextCheckAt: rules.nextCheckAfter(now, { hasMail: false }),
      });
      return;
    }
    const kinds = taken.kinds.filter(rules.isKind);
    const alerts = await listAlerts(tx, clock, key.teamId, kinds);
    const { fresh, told } = rules.compare(alerts, taken.told);
    const hasMail = fresh.length > 0;
    await store.updateTaken(tx, key, { told, nextCheckAt: rules.nextCheckAfter(now, { hasMail }) });
    if (hasMail) await enqueueMail(tx, key, fresh);
  });
}

async function enqueueMail(
  tx: Tx,
  { teamId, memberId }: SubscriptionKey,
  alerts: readonly string[],
): Promise<void> {
  const payload = { teamId, memberId, alerts };
  await enqueue(tx, teamId, { task: SEND_ALERT_MAIL, payload });
}

/**
 * Returns the mail about these alerts of a team; null if none of them stands any more, or the
 * member may or wants no mail.
 */
export async function findDigest(
  db: Db,
  clock: Clock,
  { alerts: ids, ...key }: SubscriptionKey & { readonly alerts: readonly string[] },
  settings: MailSettings,
): Promise<Mail | null> {
  const recipient = await store.findRecipient(db, key);
  if (!recipient) return null;
  const standing = await listAlerts(db, clock, key.teamId, recipient.kinds.filter(rules.isKind));
  const alerts = standing.filter(({ id }) => ids.includes(id));
  return alerts.length === 0 ? null : writeDigest(recipient, alerts, key, settings);
}

/** The alerts of these kinds that stand now, in the order of a mail. One query for each kind. */
async function listAlerts(
  db: Db,
  clock: Clock,
  teamId: string,
  kinds: readonly Kind[],
): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for (const kind of rules.inOrder(kinds)) alerts.push(...(await LISTS[kind](db, clock, teamId)));
  return alerts;
}

const LISTS: Readonly<Record<Kind, (db: Db, clock: Clock, teamId: string) => Promise<Alert[]>>> = {
  webhooks: async (db, clock, teamId) => {
    const until = rules.failingUntil(clock.now());
    return (await listFailingEndpoints(db, teamId, until)).map(rules.webhookAlert);
  },
  errors: async (db, clock, teamId) => {
    const since = rules.firstDayOf(clock.now());
    const alert = rules.errorsAlert(await listDays(db, clock, teamId, { since }), since);
    return alert ? [alert] : [];
  },
  keys: async (db, clock, teamId) =>
    (await listEndingKeys(db, teamId, rules.endsOfKeys(clock.now()))).map(rules.keyAlert),
};
