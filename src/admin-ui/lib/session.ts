/**
 * Who is signed in. The session is a cookie that scripts cannot read. The CSRF token that changes
 * need is kept in memory only.
 */
import { useSyncExternalStore } from 'react';
import { makeChanges } from './changes.ts';
import { setClock } from './clock.ts';
import { askForToken, IS_FRAMED, tellEvent } from './host-port.ts';
import { placeToGo } from './host-places.ts';
import { answers, placesOfSignIn, rememberHost } from './hosts.ts';
import { teamHeadersOf } from './addresses.ts';
import { IS_SANDBOX, MODE_HEADERS } from './mode.ts';
import { isExpiring, isSameReader, leftMsOf, refusalOf, renewalAfterMs } from './session-rules.ts';
import { SERVICE_PATH } from './shell.ts';

/** The response of `GET /trpc-session`. In the sandbox: its team and its owner. */
export interface Session {
  /** Whether the team has a sandbox, or is one. */
  readonly has_sandbox: boolean;
  readonly csrf_token: string | null;
  readonly expires_at: string;
  readonly member_id: string;
  readonly role: 'owner' | 'admin' | 'member';
  readonly rights: readonly string[];
  readonly team: { readonly id: string; readonly name: string; readonly language: 'de' | 'en' };
}

/** Whom the development login can sign in. */
export interface DevelopmentPerson {
  readonly user_id: string;
  readonly email: string | null;
  readonly role: Session['role'];
}

/**
 *  * `loading`: not known yet.
 *  * `none`: nobody is signed in.
 *  * `open`: a session is open.
 *  * `ended`: it was open and has ended; the page stays as it is underneath.
 *  * `closed`: the team is suspended or has ended.
 *  * `no_sandbox`: the document is that of a sandbox, and the team has none.
 *  * `unreachable`: the service did not answer.
 *  * `no_host`: in a frame, the host application did not answer.
 *  * `host_down`: nobody is signed in, and the host application where that is done did not answer.
 */
export type StateOfNobody =
  | 'loading'
  | 'none'
  | 'closed'
  | 'no_sandbox'
  | 'unreachable'
  | 'no_host'
  | 'host_down';
export type SessionState =
  | { readonly kind: StateOfNobody }
  | { readonly kind: 'open' | 'ended'; readonly session: Session };

const URL_OF_SESSION = `${SERVICE_PATH}/trpc-session`;

/** How long a call waits for a new token. */
const WAIT_FOR_TOKEN_MS = 5_000;
/** After so long, a service that could not be asked about a token is asked again. */
const ASK_AGAIN_MS = 5_000;

/** The token of the host application, in a frame. Without one, the session is in a cookie. */
let bearer: string | null = null;
/** When it expires, by the clock of this browser. Infinity: the service has not said it yet. */
let expiresAt = Infinity;
/** Nothing is known of it but, at most, that the service has refused it, as it may the next one. */
let isUntried = false;
let renewal = 0;
const waiting = new Set<() => void>();
let state: SessionState = { kind: 'loading' };
/** The last session that was open here. What the page remembers is of its reader. */
let known: Session | null = null;
const changes = makeChanges();

function change(next: SessionState): void {
  state = next;
  changes.tell();
}

const reopenings = makeChanges();

/** Calls the listener when a session is open again after it had ended. */
export const onReopened = reopenings.subscribe;

/** Resolves when it is known whether somebody is signed in, or why that cannot be known. */
export function untilKnown(): Promise<void> {
  return new Promise((known) => {
    const look = () => {
      if (state.kind === 'loading') return;
      end();
      known();
    };
    const end = changes.subscribe(look);
    look();
  });
}

/** The state of the session, in a component. */
export function useSessionState(): SessionState {
  return useSyncExternalStore(changes.subscribe, () => state);
}

/** The session, in a component that is only shown while one is or was open. */
export function useSession(): Session {
  const current = useSessionState();
  if (!('session' in current)) throw new Error('no session is open');
  return current.session;
}

/** The headers that requests need: the mode, and the host application's token or the CSRF token. */
function sessionHeaders(): Record<string, string> {
  if (bearer !== null) return { ...MODE_HEADERS, authorization: `Bearer ${bearer}` };
  const token = 'session' in state ? state.session.csrf_token : null;
  return { ...MODE_HEADERS, ...(token !== null && { 'x-csrf-token': token }) };
}

/**
 * The headers that calls need, with a token that is not about to expire: timers stand still while a
 * computer sleeps, so it may have expired unnoticed. They name the team that the page shows: if the
 * session is another team's by now, the service refuses the call.
 */
export async function freshHeaders(): Promise<Record<string, string>> {
  if (bearer !== null && isExpiring(expiresAt)) {
    askForToken();
    await new Promise<void>((done) => {
      waiting.add(done);
      window.setTimeout(done, WAIT_FOR_TOKEN_MS);
    });
  }
  return { ...sessionHeaders(), ...(known && teamHeadersOf(known.team.id)) };
}

/** Asks the service who is signed in, in whatever team that is. */
export async function loadSession(): Promise<void> {
  try {
    const response = await fetch(URL_OF_SESSION, { headers: sessionHeaders() });
    if (response.ok) {
      open((await response.json()) as Session, response.headers.get('date'));
      return;
    }
    const refusal = refusalOf(response.status, IS_SANDBOX);
    if (refusal === 'ended') endSession();
    else if (refusal === 'unreachable') missService();
    else change({ kind: refusal });
  } catch {
    // The network failed, or something else than the service has answered.
    missService();
  }
}

/** The page offers another try, unless a session is open: what was entered must not be lost. */
function missService(): void {
  // The token may expire before the service answers. Then another one is better.
  isUntried = false;
  if (!('session' in state)) {
    change({ kind: 'unreachable' });
  } else if (bearer !== null && expiresAt === Infinity) {
    window.clearTimeout(renewal);
    renewal = window.setTimeout(() => void loadSession(), ASK_AGAIN_MS);
  }
}

/** Whether a host application has just led here. The address says it until the page is loaded. */
const CAME_FROM_HOST = new URLSearchParams(location.hash.slice(1)).get('from-host');
if (CAME_FROM_HOST !== null) {
  rememberHost(CAME_FROM_HOST);
  history.replaceState(null, '', location.pathname + location.search);
}

/**
 * Asks who is signed in when the page is opened. If it is nobody, goes to the host application,
 * unless the reader comes from there: then the token was refused, or the browser keeps no cookie,
 * and going there again would never end.
 */
export async function startSession(): Promise<void> {
  await loadSession();
  if (state.kind !== 'none' || IS_FRAMED) return;
  const place = placeToGo(placesOfSignIn(), CAME_FROM_HOST !== null);
  if (place === null) return;
  if (await answers(place.origin)) location.replace(place.href);
  else change({ kind: 'host_down' });
}

window.addEventListener('online', () => {
  if (state.kind === 'unreachable') void loadSession();
});

// Somebody who has signed in again in another tab goes on here at once. Meanwhile, the session may
// also have ended, or the rights may have changed.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible' || state.kind === 'loading') return;
  // A token that was refused is refused again. The host application may have a better one by now.
  if (isUntried) askForToken();
  else void loadSession();
});

/**
 * A document shows one team to one person. If it is another one's session by now, all that stands
 * here, was read before or was entered is not for this reader, so the document is loaded anew.
 * `date`: the time of the service. The clock of this browser may be wrong.
 */
function open(session: Session, date: string | null): void {
  if (known && !isSameReader(known, session)) {
    location.reload();
    return;
  }
  known = session;
  setClock(date);
  const wasEnded = state.kind === 'ended';
  change({ kind: 'open', session });
  if (wasEnded) reopenings.tell();
  if (bearer === null) return;
  isUntried = false;
  const leftMs = leftMsOf(session.expires_at, date);
  expiresAt = Date.now() + leftMs;
  window.clearTimeout(renewal);
  renewal = window.setTimeout(askForToken, renewalAfterMs(leftMs));
}

/** Opens the session of a token of the host application, in a frame. */
export function acceptToken(token: string): Promise<void> {
  bearer = token;
  expiresAt = Infinity;
  isUntried = true;
  window.clearTimeout(renewal);
  for (const done of waiting) done();
  waiting.clear();
  return loadSession();
}

/** Called when the host application should have sent a token. Says so if it has not. */
export function missHost(): void {
  if (state.kind === 'loading' && bearer === null) change({ kind: 'no_host' });
}

/** Looks whether the reader is signed in now. */
export function retrySignIn(): void {
  if (IS_FRAMED) askForToken();
  else void startSession();
}

/**
 * Called when the service refuses the session. Another token is asked for only in the place of one
 * that was good: what is wrong with one that was not, such as its team, is wrong with the next one.
 */
function endSession(): void {
  if (bearer !== null && !isUntried) askForToken();
  tellEvent('session_ended');
  change('session' in state ? { kind: 'ended', session: state.session } : { kind: 'none' });
}

/** Closes the session. Throws while it may still be open: the browser has its cookie. */
export async function signOut(): Promise<void> {
  const response = await fetch(URL_OF_SESSION, { method: 'DELETE' });
  if (!response.ok) throw new Error(`the sign-out: ${response.status}`);
  change({ kind: 'none' });
}

/** Lists whom the development login can sign in. */
export async function listPeople(): Promise<readonly DevelopmentPerson[]> {
  const response = await fetch(`${URL_OF_SESSION}/development`);
  if (!response.ok) throw new Error(`the list of people: ${response.status}`);
  return ((await response.json()) as { people: DevelopmentPerson[] }).people;
}

/** Signs in as a member of the demo team. */
export async function signInForDevelopment(userId: string): Promise<void> {
  const path = `${URL_OF_SESSION}/development/${encodeURIComponent(userId)}`;
  const login = await fetch(path, { method: 'POST' });
  if (!login.ok) throw new Error(`the development login: ${login.status}`);
  const { token } = (await login.json()) as { token: string };
  const headers = { authorization: `Bearer ${token}` };
  const opened = await fetch(URL_OF_SESSION, { method: 'POST', headers });
  if (!opened.ok) throw new Error(`the session: ${opened.status}`);
  await loadSession();
}
