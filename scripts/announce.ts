// `npm run announce -- --version v1 --deprecation DATE --sunset DATE [--dry-run]` mails the end of
// an API version to every admin who has an active key. It is safe to stop it and run it again at
// any time: the database records who was mailed.
import '../src/runtime/node-version.ts';
import { readArguments, refuseArguments } from '../src/runtime/arguments.ts';
import { appSecretsOf, loadConfig } from '../src/runtime/config.ts';
import { systemClock } from '../src/core/clock.ts';
import type { Deprecation } from '../src/core/deprecation.ts';
import { printable } from '../src/core/terminal.ts';
import { checkAppSecret, requireAppSecret } from '../src/db/operator/app-secret.ts';
import { openDatabase, type Database } from '../src/db/connections/database.ts';
import { requireDirectAt } from '../src/db/connections/poolers.ts';
import { holdSessionLock } from '../src/db/connections/session-lock.ts';
import { requireAnnouncement, type Announcement } from '../src/features/announcements/rules.ts';
import { announce, planAnnouncement } from '../src/features/announcements/service.ts';
import { mailerOf } from '../src/features/sandbox/mail-service.ts';
import { createLogger } from '../src/runtime/log.ts';
import { createMailer } from '../src/runtime/mail.ts';
import { shapeOutput } from '../src/runtime/output.ts';
import { fail, messageOf } from '../src/runtime/process.ts';

const USAGE =
  'Usage: npm run announce -- --version v1 --deprecation YYYY-MM-DD' +
  ' --sunset YYYY-MM-DD [--dry-run]';
/** The advisory lock that keeps two announcements from mailing the same people. */
const LOCK = { lockClass: 72_707_370, number: 1 };

const failedTeams: string[] = [];
const onTeamFailure = (teamId: string, error: unknown): void => {
  failedTeams.push(teamId);
  console.error(`${printable(teamId)}: ${messageOf(error)}`);
};

shapeOutput(fail);
try {
  const { announcement, dryRun } = readWanted();
  const config = loadConfig(process.env, { mail: true });
  requireInHeaders(announcement, { told: config.deprecations.version, dryRun });
  const db = openDatabase({ url: config.databaseUrl, poolMax: 1, onError: () => undefined });
  try {
    const secrets = appSecretsOf(config);
    await (dryRun ? checkAppSecret(db, secrets) : requireAppSecret(db, secrets));
    if (dryRun) await showPlan(db, announcement);
    else await sendMails(db, announcement, config);
  } finally {
    await db.close();
  }
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
if (failedTeams.length > 0) {
  console.error(printable(`Failed teams: ${failedTeams.join(', ')}. Run it again.`));
  process.exitCode = 1;
}

function readWanted(): { announcement: Announcement; dryRun: boolean } {
  const date = { type: 'string' } as const;
  const options = {
    version: date,
    deprecation: date,
    sunset: date,
    'dry-run': { type: 'boolean' },
  } as const;
  const { values } = readArguments(USAGE, { options });
  const { version, deprecation: since, sunset } = values;
  if (version === undefined || since === undefined || sunset === undefined)
    return refuseArguments(USAGE);
  return {
    announcement: requireAnnouncement({ version, since, sunset }),
    dryRun: values['dry-run'] ?? false,
  };
}

/**
 * Mails cannot be taken back, so they only tell dates that the responses tell, too. Throws
 * otherwise. A dry run may come before.
 */
function requireInHeaders(
  { since, sunset }: Announcement,
  { told, dryRun }: { readonly told: Deprecation | null; readonly dryRun: boolean },
): void {
  if (told?.since === since && told.sunset === sunset) return;
  const fault = told === null ? 'The version does not end' : 'The responses tell other dates';
  const message = `${fault}: see "version" in DEPRECATIONS_FILE.`;
  if (!dryRun) throw new Error(`${message} No mail was sent.`);
  console.error(`Note: ${message}`);
}

async function showPlan(db: Database, announcement: Announcement): Promise<void> {
  const { teams, mails, sentBefore } = await planAnnouncement(
    db,
    systemClock,
    announcement,
    onTeamFailure,
  );
  for (const { teamId, mails: count } of teams) console.log(printable(`${teamId}: ${count}`));
  console.log(
    `${mails} mails to ${teams.length} teams would be sent; ${sentBefore} were sent before.`,
  );
}

async function sendMails(
  db: Database,
  announcement: Announcement,
  config: ReturnType<typeof loadConfig>,
): Promise<void> {
  await requireDirectAt(config.databaseUrl, 'announce');
  const lock = await holdSessionLock(config.databaseUrl, LOCK.lockClass, LOCK.number);
  const logger = createLogger(config.logLevel);
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
    logger.flushNow();
    console.log(`${sent} mails sent, ${failed} failed.`);
    if (failed > 0) process.exitCode = 1;
  } finally {
    logger.flushNow();
    await lock.close();
  }
}
