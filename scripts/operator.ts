// `npm run operator -- team suspend TEAM` and the other commands of operators: what they do, and
// how, stands in scripts/operator/commands.ts. `--help` lists them.
import '../src/runtime/node-version.ts';
import { printableLines } from '../src/core/terminal.ts';
import { appSecretsOf, loadConfig } from '../src/runtime/config.ts';
import { openDatabase } from '../src/db/connections/database.ts';
import { checkAppSecret, requireAppSecret } from '../src/db/operator/app-secret.ts';
import { describeTeam as findTeam } from '../src/features/team-lifecycle/overview-service.ts';
import { isUsageError, readArguments, type Wanted } from './operator/arguments.ts';
import { confirm } from './operator/confirm.ts';
import { describeOutcome, describeRefusal, describeTeam, outcomeJson } from './operator/output.ts';
import { perform, type Performed, type Workplace } from './operator/perform.ts';

const USAGE = 64;

try {
  const wanted = readArguments(process.argv.slice(2));
  if (typeof wanted === 'string') console.log(wanted);
  else await run(wanted);
} catch (error) {
  if (isUsageError(error)) {
    console.error(printableLines((error as Error).message));
    process.exitCode = USAGE;
  } else {
    console.error(printableLines(describeRefusal(error)));
    process.exitCode = 1;
  }
}

async function run(wanted: Wanted): Promise<void> {
  const config = loadConfig(process.env);
  const db = openDatabase({ url: config.databaseUrl, poolMax: 1, onError: () => undefined });
  try {
    const secrets = appSecretsOf(config);
    await checkAppSecret(db, secrets);
    const { publicUrl, apiKeyRateLimitPerMinute: keyPerMinute } = config;
    await runAt({ db, secrets, publicUrl, keyPerMinute }, wanted);
  } finally {
    await db.close();
  }
}

async function runAt(place: Workplace, wanted: Wanted): Promise<void> {
  const { command, teamId, isDryRun, isJson } = wanted;
  const before = await findTeam(place.db.forCaller({ share: teamId }), teamId, new Date());
  const say = (text: string): void => (isJson ? console.error(text) : console.log(text));
  const finish = (performed: Performed): void => {
    if (isJson) console.log(outcomeJson(wanted, performed, before));
    else console.log(describeOutcome(performed, { isDryRun }));
  };
  if (!isJson) say(describeTeam(teamId, before));
  if (isDryRun || command.warning !== null) {
    const rehearsed = await perform(place, wanted, (recorded) => !isDryRun && !recorded.length);
    if (isDryRun || rehearsed.recorded.length === 0) {
      finish(rehearsed);
      if (isDryRun && !isJson) say('Dry run: nothing was changed.');
      return;
    }
    say(describeOutcome(rehearsed, { isDryRun: true }));
    say(command.warning ?? '');
    if (!(await confirm(wanted))) {
      console.error('Not confirmed. Nothing was changed.');
      process.exitCode = 1;
      return;
    }
  }
  await requireAppSecret(place.db, place.secrets);
  finish(await perform(place, wanted, () => true));
}
