/**
 * Opens a link that hands a key over: `POST /handover/open`, which the page at `/handover` sends.
 * Nobody signs in; who has the link is let in, once. Strangers are counted by their address before
 * their form is read, and whatever is wrong with a link is answered alike.
 */
import type { Router } from 'express';
import { notFound } from '../../core/problem.ts';
import { openHandover } from '../../features/handovers/service.ts';
import {
  beginExchange,
  beginRefusal,
  countStranger,
  describeProblem,
  type AppExchange,
} from './admission.ts';
import { readForm } from './form.ts';

export const HANDOVER_PATH = '/handover/open';
/** Strangers share what the database does for them: nobody takes a team's share by its id. */
const SHARE = 'handovers';

export function addHandoverRoute(
  router: Router,
  given: Pick<AppExchange, 'options' | 'verify'>,
): void {
  router.post(HANDOVER_PATH, async (request, response) => {
    const exchange = beginExchange({ ...given, request, response });
    try {
      await countStranger(exchange);
      const form = await readForm(exchange);
      const sealed = await open(exchange, form['team_id'], form['opener']);
      response.json({ sealed: sealed.toString('base64url') });
    } catch (error) {
      const problem = await beginRefusal(exchange, error);
      const told = problem.code === 'not_found' ? notFound() : problem;
      const body = JSON.stringify(describeProblem(exchange, told));
      response.type('application/problem+json').send(body);
    }
  });
}

/** Throws `not_found`. */
async function open(
  { options, requestId }: AppExchange,
  teamId: unknown,
  opener: unknown,
): Promise<Buffer> {
  if (typeof teamId !== 'string' || typeof opener !== 'string') throw notFound();
  // Postgres takes no such text.
  if (teamId.includes('\0')) throw notFound();
  const db = options.db.forCaller({ share: SHARE });
  return openHandover(db, { teamId, opener, requestId, at: options.services.clock.now() });
}
