import type { ServerResponse } from 'node:http';

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
