/** The job that mails one admin of the live team that the sandbox will go. */
export const SEND_REMOVAL_WARNING = 'send_sandbox_warning';

/** Goes on with the admins of a live team who get that mail. */
export const WARN_ADMINS = 'warn_sandbox_admins';

/** Saves the evaluation of a training that was played some seconds before. */
export const SCORE_TRAINING = 'score_sandbox_training';
/** Ends a suspension that was played. */
export const END_SUSPENSION = 'end_sandbox_suspension';
