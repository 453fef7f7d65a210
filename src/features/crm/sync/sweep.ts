/** The end of a full round: what it has not read is removed, a step in each transaction. */
import { z } from 'zod';
import type { Tx } from '../../../db/client.ts';
import type { ConnectionKey } from './jobs.ts';
import { END, type Round } from './schedule.ts';
import * as store from './sweep-store.ts';

/** Deals come first: their objections go with them. */
const placeShape = z.union([
  z.strictObject({ deals: z.string() }),
  z.strictObject({ notes: z.strictObject({ at: z.string(), id: z.string() }).nullable() }),
]);
type Place = z.output<typeof placeShape>;

/**
 * Sweeps from `cursor` of the round, and returns the round with the next place. A step that is made
 * twice does no harm. Call `holdRun` first, in the same transaction.
 */
export async function sweepStep(tx: Tx, connection: ConnectionKey, round: Round): Promise<Round> {
  const next = await sweepFrom(tx, connection, { since: round.startedAt, place: placeIn(round) });
  if (next === null) return { ...round, list: END, cursor: null };
  return { ...round, cursor: JSON.stringify(next) };
}

function placeIn({ cursor }: Round): Place {
  return cursor === null ? { deals: '' } : placeShape.parse(JSON.parse(cursor));
}

async function sweepFrom(
  tx: Tx,
  connection: ConnectionKey,
  { since, place }: { readonly since: string; readonly place: Place },
): Promise<Place | null> {
  if ('deals' in place) {
    const after = await store.sweepDeals(tx, connection, { since, after: place.deals });
    return after === null ? { notes: null } : { deals: after };
  }
  const after = await store.sweepNotes(tx, connection, { since, after: place.notes });
  return after && { notes: after };
}
