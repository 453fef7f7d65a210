// `npm run doctor` looks at the configuration and the database and says what is wrong, with what to
// do. It changes nothing. Exit code 1: at least one finding is a failure.
import '../src/runtime/node-version.ts';
import { CHECKS } from '../src/doctor/checks.ts';
import { examine } from '../src/doctor/examine.ts';
import { hasFailed, reportJson, reportText } from '../src/doctor/report.ts';
import { readArguments } from '../src/runtime/arguments.ts';
import { commandOf, runHere } from '../src/runtime/command.ts';

const USAGE = 'Usage: npm run doctor -- [--json] [--backup FILE_OR_FOLDER]';

export const main = commandOf(async ({ args, env, print }) => {
  const { values: options } = readArguments(USAGE, args, {
    options: { json: { type: 'boolean' }, backup: { type: 'string' } },
  });
  const examined = await examine(CHECKS, { env, backup: options.backup ?? null });
  print(options.json ? reportJson(examined) : reportText(examined));
  return hasFailed(examined) ? 1 : 0;
});

if (import.meta.main) await runHere(main);
