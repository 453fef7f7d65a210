/** The job that mails one admin about one pause. */
export const SEND_PAUSE_MAIL = 'send_pause_mail';
/** Goes on with the admins of a team who get that mail. */
export const MAIL_PAUSE = 'mail_pause_to_admins';

/** SQL: the key of that job, made of the endpoint's row. There is one for each pause. */
export const MAIL_PAUSE_KEY = `'${MAIL_PAUSE}:' || team_id || ':' || id`;

/** The same key. */
export function mailPauseKey(teamId: string, endpointId: string): string {
  return `${MAIL_PAUSE}:${teamId}:${endpointId}`;
}
