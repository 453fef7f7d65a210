/** The job that mails one admin of the live team that the sandbox will go. */
export const SEND_REMOVAL_WARNING = 'send_sandbox_warning';
