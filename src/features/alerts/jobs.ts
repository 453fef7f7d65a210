/** The job that mails one member what is new. */
export const SEND_ALERT_MAIL = 'send_alert_mail';
