/**
 * The advice to clients that poll a list with `updated_since`. The time of a change is that of the
 * database, and a row is seen only once its transaction has committed. So a client that asks for
 * all since its last poll needs the time of a clock of the service, and an overlap that covers:
 *  * how far the clock behind the `Date` header, that of an API process, is ahead of the
 *    database's, which the runbook keeps below a minute;
 *  * how long a transaction lasts after it has noted the time: 15 s at most.
 * What is in the overlap comes twice, and its id tells.
 */
import type { Language } from './language.ts';

/** In minutes. The guides and the descriptions of the operations say it in words. */
export const POLL_OVERLAP_MIN = 5;

/** `POLL_OVERLAP_MIN` as the guides say it. */
export const POLL_OVERLAP: Readonly<Record<Language, string>> = {
  en: 'five minutes',
  de: 'fünf Minuten',
};

/** What the description of each operation with `updated_since` says. */
export const POLLING_ADVICE =
  "To poll, set `updated_since` to the header `Date` of the last poll's first page, less " +
  `${POLL_OVERLAP.en}.`;
