import '../src/runtime/node-version.ts';
import { migrate } from '../src/db/operator/migrate.ts';
import { readArguments } from '../src/runtime/arguments.ts';
import { commandOf, runHere } from '../src/runtime/command.ts';
import { withSecretFiles } from '../src/runtime/config.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail } from '../src/runtime/process.ts';

const USAGE = 'Usage: npm run migrate -- [--distribute]';

export const main = commandOf(async ({ args, env, print }) => {
  const { values } = readArguments(USAGE, args, {
    options: { distribute: { type: 'boolean', default: false } },
  });
  // Only DATABASE_URL is read: the migration step of a deployment does not need the API's secrets.
  const { DATABASE_URL: databaseUrl } = withSecretFiles(env, ['DATABASE_URL']);
  if (!databaseUrl) {
    throw new Error(
      'DATABASE_URL is required. It must be the postgres:// URL of a direct connection' +
        ' (not through PgBouncer).',
    );
  }
  const applied = await migrate(databaseUrl, {
    distribute: values.distribute,
    onDistributed: (table) => print(`distributed ${table}`),
    onIndex: (name) => print(`${name} builds an index; writes go on meanwhile`),
    onBlocked: (name) =>
      print(`${name} waits until older transactions end that use its tables (a backup?)`),
  });
  for (const name of applied) print(`applied ${name}`);
  print('The database is up to date.');
  return 0;
});

if (import.meta.main) {
  shapeOutput(fail);
  await runHere(main);
}
