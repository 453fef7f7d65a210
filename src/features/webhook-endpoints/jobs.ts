/** The job that mails one admin about one pause. */
export const SEND_PAUSE_MAIL = 'send_pause_mail';
