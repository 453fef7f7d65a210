/**
 * Decisions about handing a secret over by a link: an API key, or the signing secret of a webhook
 * endpoint. The specification does not speak of it.
 *  * The service never has what opens the secret. The admin page makes a random link secret. One
 *    key is derived from it to seal the secret in the browser, and one text to ask for it (the
 *    opener). The link secret stands in the fragment of the link, which browsers do not send.
 *    Creation sends the sealed secret and a hash of the opener, opening sends the opener. So
 *    neither our database, nor our logs, nor a proxy can open what they hold. Rejected: to keep the
 *    key encrypted with APP_SECRET, because whoever has both could read it.
 *  * Two things a link does not change: the response that shows a new key is kept for a day,
 *    encrypted (`api-keys/rules.ts`), and both pages get their scripts from this service.
 *  * The service cannot check what was sealed. The maker could as well mail it to the reader.
 *  * A link opens once, within an hour. Opening is a POST that a click sends, because mail scanners
 *    and previews follow links by GET. The answer goes with the row's sealed secret: if it is
 *    lost, the link is used up. That is the price of once, and the page says to ask for a new one.
 *  * A link that was used, withdrawn or has expired, a wrong one, and one of a team that is
 *    suspended, ended or gone are answered alike. A suspended team's link is not used up.
 *  * The link names the team, so that each statement is bound to one. Only its reader sees that.
 *  * Whoever may make keys may make and withdraw links; all admins see their state. The audit log
 *    tells who made one, and when it was opened: by the actor `system`, because nobody signs in.
 *    Opening confirms nothing about the key (`apiKeys.confirmStored`): the admin does that.
 *  * A service of the host application may make a link, too, for a key that it has made. In the
 *    list it is the link of the member whose key it is; the audit log names the service.
 *  * A key that ends meanwhile can still be handed over. It opens nothing any more.
 *  * A link to an endpoint's secret may be made and withdrawn by whoever is shown that secret: all
 *    admins. So its procedures are others than those for keys. Opening it confirms nothing either
 *    (`webhooks.confirmStored`): who opens a link has seen the secret, and nothing tells whether
 *    they stored it.
 *  * A link to a secret that was replaced must not be opened: its reader would check with a secret
 *    that signs only until the grace period is over. So a rotation ends the open links of its
 *    endpoint, whatever the grace period, and a creation sends the SHA-256 of the secret, which
 *    must be the present one. The secret is random, and too long to be guessed from its hash. An
 *    ended key differs: its link may be opened, because the key opens nothing any more.
 *  * Clocks of processes differ. A link expires by that of the process that is asked to open it. A
 *    withdrawal and a rotation empty the link whatever their clock says: then no other opens it.
 *  * A deleted endpoint takes its links with it, opened ones too. The audit log still tells of
 *    them. A link that ended by a rotation or a deletion has no entry of its own: theirs says it.
 *  * A team has at most 100 links that can still be opened, to keys and endpoints together. One
 *    more is a validation error.
 *  * A creation can be repeated: the id is the maker's. The same id for something else, or with
 *    something else sealed, is a `conflict`.
 */
import { createHash } from 'node:crypto';
import { invalidField, ProblemError } from '../../core/problem.ts';
import { limitOf } from '../../core/team-limits.ts';

/** How long a link can be opened, in seconds. */
export const LIFETIME_S = 3600;
/** In bytes. A sealed text has a nonce and a tag at least. */
export const SEALED_MIN = 12 + 16;
export const SEALED_MAX = 1024;
/** An id or an opener: 32 bytes as base64url. */
export const TOKEN = /^[0-9A-Za-z_-]{43}$/;
export const TOKEN_CHARACTERS = 43;

/** What a link hands over: a key, or the signing secret of a webhook endpoint. */
export type Kind = 'key' | 'endpoint';

/** A key or an endpoint, by its id. */
export interface Subject {
  readonly kind: Kind;
  readonly id: string;
}

/** The fields of requests that name a subject. */
const FIELDS = { key: 'key_id', endpoint: 'endpoint_id' } as const;

/** What the audit log says of the links of each kind. */
export const ACTIONS = {
  key: {
    created: 'api_key.link_created',
    opened: 'api_key.link_opened',
    withdrawn: 'api_key.link_withdrawn',
  },
  endpoint: {
    created: 'webhook_endpoint.link_created',
    opened: 'webhook_endpoint.link_opened',
    withdrawn: 'webhook_endpoint.link_withdrawn',
  },
} as const;

/** What a link hands over. The database holds that it is one of the two. */
export function subjectOf({
  key_id: keyId,
  endpoint_id: endpointId,
}: {
  readonly key_id: string | null;
  readonly endpoint_id: string | null;
}): Subject {
  if (keyId !== null) return { kind: 'key', id: keyId };
  if (endpointId !== null) return { kind: 'endpoint', id: endpointId };
  throw new Error('a link hands nothing over');
}

/** `ended`: it has expired or was withdrawn. */
export type HandoverState = 'open' | 'opened' | 'ended';

/** What its state depends on. */
interface Facts {
  readonly expires_at: string;
  readonly opened_at: string | null;
  readonly is_sealed: boolean;
}

/** The state of a link at that time. */
export function stateOf({ expires_at, opened_at, is_sealed }: Facts, now: Date): HandoverState {
  if (opened_at !== null) return 'opened';
  return is_sealed && Date.parse(expires_at) > now.getTime() ? 'open' : 'ended';
}

/** When a link that is made now expires. */
export function expiryOf(now: Date): Date {
  return new Date(now.getTime() + LIFETIME_S * 1000);
}

/**
 * The id of the link that this opener opens: a hash, in the form in which the maker sends it. null:
 * no opener looks like that.
 */
export function idOf(opener: string): string | null {
  if (!TOKEN.test(opener)) return null;
  return createHash('sha256').update(opener).digest('base64url');
}

/** Throws `validation_error` (field `key_id` or `endpoint_id`). Count under the team's lock. */
export function requireRoom(teamId: string, openLinks: number, kind: Kind): void {
  const max = limitOf(teamId, 'openHandovers');
  if (openLinks < max) return;
  throw invalidField(
    FIELDS[kind],
    `A team may have ${max} open links. Wait for one to end, or withdraw one.`,
    'too_many_links',
  );
}

/** Throws `conflict` unless a repeated creation is the one that made the link. */
export function requireSame(
  made: { readonly subject: Subject; readonly sealed: Buffer | null },
  wanted: { readonly subject: Subject; readonly sealed: Buffer },
): void {
  const isSame =
    made.subject.kind === wanted.subject.kind &&
    made.subject.id === wanted.subject.id &&
    (made.sealed === null || made.sealed.equals(wanted.sealed));
  if (isSame) return;
  throw new ProblemError('conflict', { detail: 'The team has another link with this id.' });
}
