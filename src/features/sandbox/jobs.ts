/** Saves the evaluation of a training that was played some seconds before. */
export const SCORE_TRAINING = 'score_sandbox_training';
/** Ends a suspension that was played. */
export const END_SUSPENSION = 'end_sandbox_suspension';
