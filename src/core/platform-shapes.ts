/**
 * Shapes of the data that the services of the host application send. Their ids are stored, unlike
 * the ids in REST requests, so the length of an id is limited here.
 */
import { z } from 'zod';
import { isSandbox, SANDBOX_END } from './sandbox.ts';
import { id } from './shapes.ts';
import { ACTING } from './terminal.ts';

/** Postgres limits an index entry to 2704 bytes. It may hold three ids of 4 bytes a character. */
const ID_MAX_CHARACTERS = 200;
const TEXT_MAX_CHARACTERS = 10_000;
/**
 * The weekly sums of the analytics are 4-byte integers. With this limit a sum holds 200,000
 * sessions of one person in a week.
 */
const SCORE_MAX = 10_000;
const INT4_MAX = 2_147_483_647;

/** An id that the host application made. */
export const hostId = id.max(ID_MAX_CHARACTERS).refine((text) => !ACTING.test(text), {
  error: 'An id has no control characters, and none that change the direction of text.',
});

/**
 * The input that every procedure about one team has. A sandbox is no team of the host application,
 * which records nothing in it.
 */
export const teamInput = {
  team_id: hostId.refine((text) => !isSandbox(text), {
    error: `An id of a team does not end with ${SANDBOX_END}.`,
  }),
};

/** A text of the host application. null and undefined: there is none. */
export const hostText = z.string().max(TEXT_MAX_CHARACTERS).nullable().optional();

/** A text of the host application that there must be. */
export const requiredHostText = z.string().max(TEXT_MAX_CHARACTERS);

/** A number of things, or a duration. */
export const hostCount = z.int().min(0).max(INT4_MAX);

/** The score of an evaluation or of one of its dimensions. */
export const hostScore = z.int().min(-SCORE_MAX).max(SCORE_MAX);

/** A status whose values the host application defines. The column accepts the same pattern. */
export const hostState = z
  .string()
  .max(40)
  .regex(/^[a-z][a-z_]{0,39}$/);
