import { fewestToShare } from '../../db/connections/division.ts';
import { findMisspelt, parseConfig, type Config } from '../../runtime/config.ts';
import { fail, orOk, warn, type Check, type Finding, type World } from '../check.ts';

/** The environment, parsed as the processes do. */
export const configuration: Check = {
  id: 'configuration',
  section: 'One machine with systemd',
  needsDatabase: false,
  run: ({ env }) => {
    const misspelt = findMisspelt(env).map(({ name, meant }) =>
      warn(`${name} is no setting and changes nothing`, `Is ${meant} meant?`),
    );
    return Promise.resolve(orOk([...faultsOf(env), ...misspelt], 'every setting is valid'));
  },
};

function faultsOf(env: World['env']): Finding[] {
  try {
    // What an API needs and what a worker needs.
    const config = parseConfig(env, { mail: true, port: true });
    return [...unlinked(config), ...unsigned(config), ...unshared(config)];
  } catch (error) {
    if (!(error instanceof Error) || !('faults' in error)) throw error;
    return (error.faults as readonly string[]).map((fault) =>
      fail(fault, 'Set it as the table "Environment" of the README says.'),
    );
  }
}

function unlinked({ nodeEnv, invitationUrl }: Config): Finding[] {
  if (nodeEnv !== 'production' || invitationUrl !== undefined) return [];
  return [
    warn(
      'INVITATION_URL is not set: invitations are mailed without a link',
      'Set it to the page of the host application where invited people sign in.',
    ),
  ];
}

function unsigned({ smtpUrl, mailFrom }: Config): Finding[] {
  if (smtpUrl === undefined || mailFrom !== undefined) return [];
  return [
    warn(
      'MAIL_FROM is not set: mails are sent as no-reply@localhost, which many servers refuse',
      'Set it to an address that the mail server may send for.',
    ),
  ];
}

function unshared({ databasePoolMax }: Config): Finding[] {
  const fewest = fewestToShare();
  if (databasePoolMax >= fewest) return [];
  return [
    warn(
      `DATABASE_POOL_MAX is ${databasePoolMax}, so a team can keep the others waiting`,
      `Set it to ${fewest} or more.`,
    ),
  ];
}
