import '../src/runtime/node-version.ts';
import { migrate } from '../src/db/operator/migrate.ts';
import { readArguments } from '../src/runtime/arguments.ts';
import { withSecretFiles } from '../src/runtime/config.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail, messageOf } from '../src/runtime/process.ts';

shapeOutput(fail);
const { values } = readArguments('Usage: npm run migrate -- [--distribute]', {
  options: { distribute: { type: 'boolean', default: false } },
});
try {
  // Only DATABASE_URL is read: the migration step of a deployment does not need the API's secrets.
  const { DATABASE_URL: databaseUrl } = withSecretFiles(process.env, ['DATABASE_URL']);
  if (!databaseUrl) {
    throw new Error(
      'DATABASE_URL is required. It must be the postgres:// URL of a direct connection' +
        ' (not through PgBouncer).',
    );
  }
  const applied = await migrate(databaseUrl, {
    distribute: values.distribute,
    onDistributed: (table) => console.log(`distributed ${table}`),
    onIndex: (name) => console.log(`${name} builds an index; writes go on meanwhile`),
    onBlocked: (name) =>
      console.log(`${name} waits until older transactions end that use its tables (a backup?)`),
  });
  for (const name of applied) console.log(`applied ${name}`);
  console.log('The database is up to date.');
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
