/**
 * Alerts by mail, for admins who want them. Decisions:
 *  * Every admin decides for themselves, and gets none at first. Nobody decides for others or sees
 *    what others get, so the audit log says nothing of it.
 *  * There are three kinds. Keys: one ends within 14 days and was not revoked. Errors: since
 *    yesterday, 0:00 UTC, more than 5 % of at least 20 requests got an error. Both as on the
 *    overview (core/attention.ts), which looks at seven days of requests. Webhooks: no delivery to
 *    a webhook endpoint succeeded for an hour, counted from its first failure, or it is paused for
 *    that. An endpoint that somebody has paused by hand is none.
 *  * One mail tells all that is new, and a member gets at most one in 24 hours. The first alert
 *    after a quiet day comes within about an hour; what follows waits for the next mail.
 *  * An alert is told once, and again if it has passed and comes back. The webhook alert goes by
 *    the time of its first failure: a pause of the same endpoint, about which all admins get a mail
 *    of its own anyway, is not another alert.
 *  * What was told and the job of the mail commit together, so a crash neither loses nor repeats an
 *    alert. The mail is written when it is sent. It leaves out what has passed meanwhile, and is
 *    not sent if nothing is left, the member is no longer an admin or wants none.
 *  * If the mail server refuses a mail for more than a day, the next one can follow it closely.
 *  * Who is no longer an active admin loses the subscription when it is due next. Teams that are
 *    suspended or have ended get none.
 *  * The mail names keys, and the hosts or descriptions of webhook endpoints; never a person.
 */
import { ATTENTION } from '../../core/attention.ts';
import { endpointName } from '../../core/endpoint-name.ts';

/** What alerts there are, in the order of a mail. */
export const KINDS = ['webhooks', 'errors', 'keys'] as const;
export type Kind = (typeof KINDS)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A webhook endpoint that fails is an alert after this time: the fifth attempt is due then. */
const FAILING_FOR_MS = HOUR_MS;
const CHECKED_AFTER_MS = HOUR_MS;
const MAILED_AFTER_MS = DAY_MS;

/** The ends of the keys that are alerts. */
export function endsOfKeys(now: Date): { readonly after: Date; readonly until: Date } {
  return { after: now, until: new Date(now.getTime() + ATTENTION.keyEndsWithinDays * DAY_MS) };
}

/** The last first failure of the webhook endpoints that are alerts. */
export function failingUntil(now: Date): Date {
  return new Date(now.getTime() - FAILING_FOR_MS);
}

/** The first day whose errors count, `YYYY-MM-DD` in UTC: yesterday. */
export function firstDayOf(now: Date): string {
  return new Date(now.getTime() - DAY_MS).toISOString().slice(0, 10);
}

/** When a subscription is looked at again. */
export function nextCheckAfter(now: Date, { hasMail }: { readonly hasMail: boolean }): Date {
  return new Date(now.getTime() + (hasMail ? MAILED_AFTER_MS : CHECKED_AFTER_MS));
}

/** Something that stands now. `id` is the same for as long as it does. */
export type Alert =
  | {
      readonly kind: 'webhooks';
      readonly id: string;
      readonly endpointId: string;
      readonly name: string;
      readonly since: string;
      readonly isPaused: boolean;
    }
  | {
      readonly kind: 'errors';
      readonly id: string;
      readonly share: number;
      readonly requests: number;
      /** `YYYY-MM-DD`. */
      readonly since: string;
    }
  | {
      readonly kind: 'keys';
      readonly id: string;
      readonly name: string;
      readonly endsAt: string;
    };

/** The alert about a key that ends soon. */
export function keyAlert(key: { id: string; name: string; expires_at: string | null }): Alert {
  const { id, name, expires_at: endsAt } = key;
  // With its end: a key whose end was put off and comes near again is another alert.
  return { kind: 'keys', id: `key:${id}:${endsAt}`, name, endsAt: endsAt ?? '' };
}

/** The alert about a webhook endpoint that fails. */
export function webhookAlert(endpoint: {
  id: string;
  url: string;
  description: string | null;
  status: string;
  failing_since: string | null;
}): Alert {
  const { id, url, description, status, failing_since: since } = endpoint;
  return {
    kind: 'webhooks',
    id: `webhook:${id}:${since}`,
    endpointId: id,
    name: endpointName({ url, description }),
    since: since ?? '',
    isPaused: status === 'disabled_failures',
  };
}

/** Requests by outcome. */
interface Requests {
  readonly count_2xx: number;
  readonly count_4xx: number;
  readonly count_429: number;
  readonly count_5xx: number;
}

/** The alert about the errors of these days; null if they are few. */
export function errorsAlert(days: readonly Requests[], since: string): Alert | null {
  const sum = (numberOf: (day: Requests) => number): number =>
    days.reduce((all, day) => all + numberOf(day), 0);
  const good = sum((day) => day.count_2xx);
  const requests = good + sum((day) => day.count_4xx + day.count_429 + day.count_5xx);
  if (requests < ATTENTION.requestsMin) return null;
  const share = (requests - good) / requests;
  return share > ATTENTION.errorShare
    ? { kind: 'errors', id: 'errors', share, requests, since }
    : null;
}

/** How the ids of our alerts begin. A later version may have told others. */
const OURS = /^(?:webhook:|errors$|key:)/;

/**
 * What is new of the alerts that stand now, and what a member will then have been told. What a
 * later version has told stays: it would tell it again.
 */
export function compare(
  alerts: readonly Alert[],
  told: readonly string[],
): { readonly fresh: readonly string[]; readonly told: readonly string[] } {
  const ids = alerts.map(({ id }) => id);
  return {
    fresh: ids.filter((id) => !told.includes(id)),
    told: [...ids, ...told.filter((id) => !OURS.test(id))],
  };
}

/** The kinds that a request names, each once, in our order. */
export function inOrder(kinds: readonly Kind[]): Kind[] {
  return KINDS.filter((kind) => kinds.includes(kind));
}

/** Whether a stored text is a kind. A later version may have stored others. */
export function isKind(text: string): text is Kind {
  return KINDS.some((kind) => kind === text);
}
