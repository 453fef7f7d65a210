import type { Job, Task, TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import { isOfRecipient, MailNotTaken } from '../core/mail.ts';

/**
 * So many refusals in a row, of which the last comes 16 hours after the first, or later. A relay
 * that refuses every recipient is set up wrongly, and whoever mends it before that loses no mail.
 */
const REFUSALS = 12;

/**
 * Ends the job of a mail that the mail server goes on refusing: a mistyped address stays mistyped,
 * and no operator can mend it. Logs a warning, which names no address. The job's last error counts
 * the refusals: other failures, such as those of an outage before, are none.
 */
export function endRefused(tasks: TaskList, logger: Logger): TaskList {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [name, task && ending(task, logger)]),
  );
}

/** Whether a job that failed before now failed by its recipient. It counts as one failure. */
export function isOfRecipientAgain(error: unknown, { attempts }: Pick<Job, 'attempts'>): boolean {
  return isOfRecipient(error) && attempts > 1;
}

function ending(task: Task, logger: Logger): Task {
  return async (payload, helpers) => {
    try {
      await task(payload, helpers);
    } catch (error) {
      if (!(error instanceof MailNotTaken) || error.failure !== 'refused') throw error;
      const { attempts, last_error: lastError, task_identifier } = helpers.job;
      // The error stays when an operator lets a job begin anew.
      const refusals = (attempts > 1 ? countRefusals(lastError) : 0) + 1;
      if (refusals < REFUSALS)
        throw new MailNotTaken(`${error.message} (refusal ${refusals})`, error.failure);
      const { teamId: team } = payload as { readonly teamId: string };
      logger.warn(
        { team, task: task_identifier, reason: error.message },
        'a mail is refused for good',
      );
    }
  };
}

/** Returns how many refusals in a row the last error of a job ends. */
function countRefusals(lastError: string | null): number {
  return Number(/\(refusal (\d+)\)$/.exec(lastError ?? '')?.[1] ?? 0);
}
