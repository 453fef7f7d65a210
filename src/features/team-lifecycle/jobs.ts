/** The job that erases the marked teams. It names none, so it leaves nothing of them behind. */
export const ERASE_TEAMS = 'erase_teams';

/** Removals run one after the other, so that they cannot take the place of mails. */
export const REMOVALS_QUEUE = 'removals';

/** The job as a change enqueues it. */
export function eraseJob() {
  return { task: ERASE_TEAMS, payload: {}, key: ERASE_TEAMS, queue: REMOVALS_QUEUE };
}
