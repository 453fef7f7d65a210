// `npm run operator -- team suspend TEAM` and the other commands of operators: what they do, and
// how, stands in scripts/operator/commands.ts. `--help` lists them.
import '../src/runtime/node-version.ts';
import { printableLines } from '../src/core/terminal.ts';
import { EarlyEnd } from '../src/runtime/arguments.ts';
import { commandOf, runHere, type Surroundings } from '../src/runtime/command.ts';
import { appSecretsOf, readConfig } from '../src/runtime/config.ts';
import { checkAppSecret, requireAppSecret } from '../src/db/operator/app-secret.ts';
import { describeTeam as findTeam } from '../src/features/team-lifecycle/overview-service.ts';
import { readArguments, type Wanted } from './operator/arguments.ts';
import { confirm } from './operator/confirm.ts';
import { describeOutcome, describeRefusal, describeTeam, outcomeJson } from './operator/output.ts';
import { perform, type Performed, type Workplace } from './operator/perform.ts';

export const main = commandOf(async (surroundings) => {
  const { args, print, printError } = surroundings;
  try {
    const wanted = readArguments(args);
    if (typeof wanted !== 'string') return await run(surroundings, wanted);
    print(wanted);
    return 0;
  } catch (error) {
    if (error instanceof EarlyEnd) throw error;
    printError(printableLines(describeRefusal(error)));
    return 1;
  }
});

async function run(surroundings: Surroundings, wanted: Wanted): Promise<number> {
  const config = readConfig(surroundings.env, {}, surroundings.printError);
  const db = surroundings.openDatabase(config.databaseUrl);
  try {
    const secrets = appSecretsOf(config);
    await checkAppSecret(db, secrets);
    const { publicUrl, apiKeyRateLimitPerMinute: keyPerMinute } = config;
    return await runAt({ db, secrets, publicUrl, keyPerMinute }, surroundings, wanted);
  } finally {
    await db.close();
  }
}

async function runAt(
  place: Workplace,
  { print, printError, ask }: Surroundings,
  wanted: Wanted,
): Promise<number> {
  const { command, teamId, isDryRun, isJson } = wanted;
  const before = await findTeam(place.db.forCaller({ share: teamId }), teamId, new Date());
  const say = (text: string): void => (isJson ? printError(text) : print(text));
  const finish = (performed: Performed): void => {
    if (isJson) print(outcomeJson(wanted, performed, before));
    else print(describeOutcome(performed, { isDryRun }));
  };
  if (!isJson) say(describeTeam(teamId, before));
  if (isDryRun || command.warning !== null) {
    const rehearsed = await perform(place, wanted, (recorded) => !isDryRun && !recorded.length);
    if (isDryRun || rehearsed.recorded.length === 0) {
      finish(rehearsed);
      if (isDryRun && !isJson) say('Dry run: nothing was changed.');
      return 0;
    }
    say(describeOutcome(rehearsed, { isDryRun: true }));
    say(command.warning ?? '');
    if (!(await confirm(wanted, ask))) {
      printError('Not confirmed. Nothing was changed.');
      return 1;
    }
  }
  await requireAppSecret(place.db, place.secrets);
  finish(await perform(place, wanted, () => true));
  return 0;
}

if (import.meta.main) await runHere(main);
