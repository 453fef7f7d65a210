// `npm run doctor` looks at the configuration and the database and says what is wrong, with what to
// do. It changes nothing. Exit code 1: at least one finding is a failure.
import '../src/runtime/node-version.ts';
import { parseArgs } from 'node:util';
import { CHECKS } from '../src/doctor/checks.ts';
import { examine } from '../src/doctor/examine.ts';
import { hasFailed, reportJson, reportText } from '../src/doctor/report.ts';

const USAGE = 'usage: doctor [--json] [--backup FILE_OR_FOLDER]';

const options = readOptions();
const examined = await examine(CHECKS, { env: process.env, backup: options.backup ?? null });
console.log(options.json ? reportJson(examined) : reportText(examined));
process.exitCode = hasFailed(examined) ? 1 : 0;

function readOptions(): { json?: boolean; backup?: string } {
  try {
    return parseArgs({ options: { json: { type: 'boolean' }, backup: { type: 'string' } } }).values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(64);
  }
}
