import type { ServerResponse } from 'node:http';

/** The status in the log of a request whose caller has hung up, as nginx has it. */
export const CALLER_HUNG_UP = 499;

/** Returns a signal that aborts if the connection ends before the response is complete. */
export function hangUpOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (hasHungUp(response)) controller.abort();
  else
    response.once('close', () => {
      if (!response.writableFinished) controller.abort();
    });
  return controller.signal;
}

/** Whether nobody will read the response. */
export function hasHungUp(response: ServerResponse): boolean {
  return response.destroyed && !response.writableFinished;
}
