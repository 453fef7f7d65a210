/** The job that mails one admin about one pause. */
export const SEND_PAUSE_MAIL = 'send_pause_mail';
/** Goes on with the admins of a team who get that mail. */
export const MAIL_PAUSE = 'mail_pause_to_admins';

/** The key of that job. There is one for each pause. */
export function mailPauseKey(teamId: string, endpointId: string): string {
  return `${MAIL_PAUSE}:${teamId}:${endpointId}`;
}
