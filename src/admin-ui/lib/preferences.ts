/**
 * What the reader has chosen for this browser. In a frame of another site the browser may refuse
 * its storage; then a choice lasts as long as the page.
 */

const PREFIX = 'team-customer-api.';

/** Returns the kept choice, or null. */
export function readPreference(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Keeps a choice. null forgets it. */
export function writePreference(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The browser refuses: the choice lasts as long as the page.
  }
}
