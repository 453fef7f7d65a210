// `npm run trace -- ID [--team TEAM_ID] [--json]` prints the rows that belong to an id: where a
// webhook is, when it is tried next, what blocks it; what a key and a CRM connection did last. It
// reads only. Exit code 1: it could not ask; 2: nothing has this id; 64: wrong arguments.
import '../src/runtime/node-version.ts';
import { printableJson } from '../src/core/terminal.ts';
import { findUrlFault } from '../src/db/database-url.ts';
import { readArguments, usageError } from '../src/runtime/arguments.ts';
import { commandOf, runHere, type Surroundings } from '../src/runtime/command.ts';
import { withSecretFiles } from '../src/runtime/config.ts';
import { trace } from '../src/trace/service.ts';
import { formatTrace } from '../src/trace/text.ts';

const USAGE = `Usage: npm run trace -- ID [--team TEAM_ID] [--json]
ID: of a request, an event (evt_…), a delivery (whd_…), a webhook endpoint (whe_…), an API key
(key_…, or its public part; never the whole key), a CRM connection (crm_…) or a team`;
/** Of a terminal that does not tell its own, and of a file. */
const WIDTH = 100;
const NOTHING_FOUND = 2;

export const main = commandOf(async (surroundings) => {
  const { write, columns, openDatabase } = surroundings;
  const wanted = readWanted(surroundings);
  const db = openDatabase(readUrl(surroundings));
  try {
    const result = await trace(db, { ...wanted, now: new Date() });
    write(
      wanted.json
        ? `${printableJson(JSON.stringify(result, null, 2))}\n`
        : formatTrace(result, columns ?? WIDTH),
    );
    return result.found ? 0 : NOTHING_FOUND;
  } finally {
    await db.close();
  }
});

function readWanted({ args }: Surroundings): { id: string; teamId: string | null; json: boolean } {
  const options = { team: { type: 'string' }, json: { type: 'boolean' } } as const;
  const { values, positionals } = readArguments(USAGE, args, { options, allowPositionals: true });
  const [id = '', ...more] = positionals;
  if (id.trim() === '' || more.length > 0) throw usageError(USAGE);
  return { id, teamId: values.team ?? null, json: values.json ?? false };
}

/** Only DATABASE_URL is read: who looks at a delivery need not know the service's secrets. */
function readUrl({ env }: Surroundings): string {
  const url = withSecretFiles(env, ['DATABASE_URL'])['DATABASE_URL'] ?? '';
  const fault = findUrlFault(url);
  if (fault !== null) throw new Error(`DATABASE_URL ${fault}`);
  return url;
}

if (import.meta.main) await runHere(main);
