import { findMisspelt, parseConfig } from '../../runtime/config.ts';
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
    const { nodeEnv, invitationUrl } = parseConfig(env, { mail: true, port: true });
    if (nodeEnv !== 'production' || invitationUrl !== undefined) return [];
    return [
      warn(
        'INVITATION_URL is not set: invitations are mailed without a link',
        'Set it to the page of the host application where invited people sign in.',
      ),
    ];
  } catch (error) {
    if (!(error instanceof Error) || !('faults' in error)) throw error;
    return (error.faults as readonly string[]).map((fault) =>
      fail(fault, 'Set it as the table "Environment" of the README says.'),
    );
  }
}
