// FUZZ_CASES sets the number of the requests.
import { describeFuzz } from './fuzz.ts';

/** Only a case that hangs reaches it, even on a machine that is ten times slower. */
const TIME_LIMIT_MS = 900_000;

describeFuzz(Number(process.env['FUZZ_CASES'] ?? 4_000), TIME_LIMIT_MS);
