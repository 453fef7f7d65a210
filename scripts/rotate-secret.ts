// `npm run rotate-secret` encrypts with APP_SECRET what was encrypted with APP_SECRET_PREVIOUS. It
// is safe to stop it and run it again at any time.
import '../src/runtime/node-version.ts';
import { requireAppSecret, rotateCanary } from '../src/db/operator/app-secret.ts';
import { rotateSecret } from '../src/db/operator/rotate-secret.ts';
import { readArguments } from '../src/runtime/arguments.ts';
import { commandOf, runHere } from '../src/runtime/command.ts';
import { readConfig } from '../src/runtime/config.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail } from '../src/runtime/process.ts';

export const main = commandOf(async ({ args, env, print, printError, openDatabase }) => {
  readArguments('Usage: npm run rotate-secret (it takes no arguments)', args, {});
  const config = readConfig(env, {}, printError);
  const { appSecret: current, appSecretPrevious: previous } = config;
  if (previous === undefined)
    throw new Error(
      'APP_SECRET_PREVIOUS is required: it decrypts what is to be encrypted with APP_SECRET.',
    );
  const db = openDatabase(config.databaseUrl);
  try {
    const secrets = { current, previous };
    await requireAppSecret(db, secrets);
    const { rotated, unreadable } = await rotateSecret(db, secrets);
    await rotateCanary(db, secrets);
    for (const [column, count] of Object.entries(rotated))
      print(`${column}: ${count} encrypted anew`);
    const left = Object.entries(unreadable).filter(([, count]) => count > 0);
    for (const [column, count] of left) printError(`${column}: ${count} that neither secret opens`);
    if (left.length > 0) return 1;
    print(
      'APP_SECRET opens everything now; APP_SECRET_PREVIOUS may go. ' +
        'Backups from before need that secret: keep it as long as you keep them.',
    );
    return 0;
  } finally {
    await db.close();
  }
});

if (import.meta.main) {
  shapeOutput(fail);
  await runHere(main);
}
