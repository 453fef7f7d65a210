// `npm run announce -- --version v1 --deprecation DATE --sunset DATE [--dry-run]` mails the end of
// an API version to every admin who has an active key. It is safe to stop it and run it again at
// any time: the database records who was mailed.
import '../src/runtime/node-version.ts';
import { readArguments, usageError } from '../src/runtime/arguments.ts';
import { commandOf, runHere, type Surroundings } from '../src/runtime/command.ts';
import { appSecretsOf, readConfig, type Config } from '../src/runtime/config.ts';
import { systemClock } from '../src/core/clock.ts';
import type { Deprecation } from '../src/core/deprecation.ts';
import { printable } from '../src/core/terminal.ts';
import { checkAppSecret, requireAppSecret } from '../src/db/operator/app-secret.ts';
import type { Database } from '../src/db/connections/database.ts';
import { requireDirectAt } from '../src/db/connections/poolers.ts';
import { holdSessionLock } from '../src/db/connections/session-lock.ts';
import { requireAnnouncement, type Announcement } from '../src/features/announcements/rules.ts';
import { announce, planAnnouncement } from '../src/features/announcements/service.ts';
import { mailerOf } from '../src/features/sandbox/mail-service.ts';
import { createThreadLogger } from '../src/runtime/log.ts';
import { createMailer } from '../src/runtime/mail.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail, messageOf } from '../src/runtime/process.ts';

const USAGE =
  'Usage: npm run announce -- --version v1 --deprecation YYYY-MM-DD' +
  ' --sunset YYYY-MM-DD [--dry-run]';
/** The advisory lock that keeps two announcements from mailing the same people. */
const LOCK = { lockClass: 72_707_370, number: 1 };

export const main = commandOf(async (surroundings) => {
  const { env, printError } = surroundings;
  const { announcement, dryRun } = readWanted(surroundings);
  const config = readConfig(env, { mail: true }, printError);
  const told = config.deprecations.version;
  const fault = headersFault(announcement, told);
  // Mails cannot be taken back, so they only tell dates that the responses tell, too.
  if (fault !== null && !dryRun) throw new Error(`${fault} No mail was sent.`);
  if (fault !== null) printError(`Note: ${fault}`);
  const db = surroundings.openDatabase(config.databaseUrl);
  const failedTeams: string[] = [];
  const onTeamFailure = (teamId: string, error: unknown): void => {
    failedTeams.push(teamId);
    printError(`${printable(teamId)}: ${messageOf(error)}`);
  };
  try {
    const secrets = appSecretsOf(config);
    await (dryRun ? checkAppSecret(db, secrets) : requireAppSecret(db, secrets));
    const work = { ...surroundings, db, announcement, onTeamFailure };
    const failed = dryRun ? await showPlan(work) : await sendMails(work, config);
    return failed > 0 || failedTeams.length > 0 ? 1 : 0;
  } finally {
    await db.close();
    if (failedTeams.length > 0)
      printError(printable(`Failed teams: ${failedTeams.join(', ')}. Run it again.`));
  }
});

interface Work extends Surroundings {
  readonly db: Database;
  readonly announcement: Announcement;
  readonly onTeamFailure: (teamId: string, error: unknown) => void;
}

function readWanted({ args }: Surroundings): { announcement: Announcement; dryRun: boolean } {
  const date = { type: 'string' } as const;
  const options = {
    version: date,
    deprecation: date,
    sunset: date,
    'dry-run': { type: 'boolean' },
  } as const;
  const { values } = readArguments(USAGE, args, { options });
  const { version, deprecation: since, sunset } = values;
  if (version === undefined || since === undefined || sunset === undefined) throw usageError(USAGE);
  return {
    announcement: requireAnnouncement({ version, since, sunset }),
    dryRun: values['dry-run'] ?? false,
  };
}

/** Says what keeps the responses from telling these dates; null: they do. */
function headersFault({ since, sunset }: Announcement, told: Deprecation | null): string | null {
  if (told?.since === since && told.sunset === sunset) return null;
  const fault = told === null ? 'The version does not end' : 'The responses tell other dates';
  return `${fault}: see "version" in DEPRECATIONS_FILE.`;
}

/** Resolves with the number of mails that failed: none is sent. */
async function showPlan({ db, announcement, onTeamFailure, print }: Work): Promise<number> {
  const { teams, mails, sentBefore } = await planAnnouncement(
    db,
    systemClock,
    announcement,
    onTeamFailure,
  );
  for (const { teamId, mails: count } of teams) print(printable(`${teamId}: ${count}`));
  print(`${mails} mails to ${teams.length} teams would be sent; ${sentBefore} were sent before.`);
  return 0;
}

/** Resolves with the number of mails that failed. */
async function sendMails(
  { db, announcement, onTeamFailure, print, write }: Work,
  config: Config,
): Promise<number> {
  await requireDirectAt(config.databaseUrl, 'announce');
  const lock = await holdSessionLock(config.databaseUrl, LOCK.lockClass, LOCK.number);
  const logger = createThreadLogger(config.logLevel, write);
  try {
    if (!(await lock.isHeld()))
      throw new Error('An announcement is being sent already, or the database cannot be reached.');
    const { sent, failed } = await announce(
      {
        db,
        clock: systemClock,
        mailer: mailerOf(db, systemClock, createMailer(config, logger)),
        publicUrl: config.publicUrl,
        onTeamFailure,
        onFailure: (teamId, error) =>
          logger.warn({ err: error, team: teamId }, 'the mail server refused a mail'),
      },
      announcement,
    );
    print(`${sent} mails sent, ${failed} failed.`);
    return failed;
  } finally {
    await lock.close();
  }
}

if (import.meta.main) {
  shapeOutput(fail);
  await runHere(main);
}
