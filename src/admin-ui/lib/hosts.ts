/** The host applications, where people sign in. The reader goes back to the one they came from. */
import { isHostOrigin, placesFor, type PlaceOfSignIn } from './host-places.ts';
import { readPreference, writePreference } from './preferences.ts';
import { REFRESH_URLS } from './shell.ts';

const PREFERENCE = 'host';
const WAIT_MS = 8_000;
const REPORT_MS = 200;

/** Keeps where the reader came from. */
export function rememberHost(origin: string): void {
  if (isHostOrigin(REFRESH_URLS, origin)) writePreference(PREFERENCE, origin);
}

/** Where the reader came from; every host application, if that is not known. */
export function placesOfSignIn(): readonly PlaceOfSignIn[] {
  const back = location.pathname + location.search;
  return placesFor(REFRESH_URLS, { back, cameFrom: readPreference(PREFERENCE) });
}

/**
 * Whether the host application answers, with whatever. If it does not, the page says so and stays:
 * the browser's own page would lead nowhere.
 */
export async function answers(origin: string): Promise<boolean> {
  let leadsElsewhere = false;
  // To another origin, such as that of a sign-in service: an answer, too.
  const note = () => {
    leadsElsewhere = true;
  };
  document.addEventListener('securitypolicyviolation', note);
  try {
    await fetch(origin, {
      method: 'HEAD',
      mode: 'no-cors',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(WAIT_MS),
    });
    return true;
  } catch {
    // The browser reports it a moment after it has refused to follow.
    await new Promise((done) => window.setTimeout(done, REPORT_MS));
    return leadsElsewhere;
  } finally {
    document.removeEventListener('securitypolicyviolation', note);
  }
}
