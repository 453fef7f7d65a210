// `npm run rotate-secret` encrypts with APP_SECRET what was encrypted with APP_SECRET_PREVIOUS. It
// is safe to stop it and run it again at any time.
import '../src/runtime/node-version.ts';
import { readArguments } from '../src/runtime/arguments.ts';
import { loadConfig } from '../src/runtime/config.ts';
import { requireAppSecret, rotateCanary } from '../src/db/operator/app-secret.ts';
import { openDatabase } from '../src/db/connections/database.ts';
import { rotateSecret } from '../src/db/operator/rotate-secret.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail, messageOf } from '../src/runtime/process.ts';

shapeOutput(fail);
readArguments('Usage: npm run rotate-secret (it takes no arguments)', {});
const config = loadConfig(process.env);
const { appSecret: current, appSecretPrevious: previous } = config;
if (previous === undefined) {
  console.error(
    'APP_SECRET_PREVIOUS is required: it decrypts what is to be encrypted with APP_SECRET.',
  );
  process.exit(1);
}

const db = openDatabase({ url: config.databaseUrl, poolMax: 1, onError: () => undefined });
try {
  const secrets = { current, previous };
  await requireAppSecret(db, secrets);
  const { rotated, unreadable } = await rotateSecret(db, secrets);
  await rotateCanary(db, secrets);
  for (const [column, count] of Object.entries(rotated))
    console.log(`${column}: ${count} encrypted anew`);
  for (const [column, count] of Object.entries(unreadable).filter(([, values]) => values > 0)) {
    console.error(`${column}: ${count} that neither secret opens`);
    process.exitCode = 1;
  }
  if (!process.exitCode)
    console.log(
      'APP_SECRET opens everything now; APP_SECRET_PREVIOUS may go. ' +
        'Backups from before need that secret: keep it as long as you keep them.',
    );
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await db.close();
}
