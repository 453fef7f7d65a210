/** Shapes of what the host application's services bring. Unlike a request's, their ids are stored, so their length matters. */
import { z } from 'zod';
import { id } from './shapes.ts';

/** An index entry must stay below 2704 bytes, and up to three ids of at most 3 bytes a character stand in one. */
const ID_MAX_CHARACTERS = 200;
const TEXT_MAX_CHARACTERS = 10_000;
/** The week's sums are 4-byte integers: this leaves room for 200,000 sessions of one person in a week. */
const SCORE_MAX = 10_000;
const INT4_MAX = 2_147_483_647;

/** An id that the host application made. */
export const hostId = id.max(ID_MAX_CHARACTERS);

/** What every procedure of a team's names. */
export const teamInput = { team_id: hostId };

export const hostText = z.string().max(TEXT_MAX_CHARACTERS).nullable().optional();
export const hostCount = z.int().min(0).max(INT4_MAX);
export const hostScore = z.int().min(-SCORE_MAX).max(SCORE_MAX);

export const hostEmail = z.string().trim().max(254).pipe(z.email());

/** A state that the specification leaves open: what the column takes. */
export const hostState = z.string().regex(/^[a-z][a-z_]{0,39}$/);
