import type { z } from 'zod';
import type { trainingCase } from './schema.ts';
import type { CaseRow } from './store.ts';

/** Field order is the specification's. No privacy switch changes what a case shows: reading one is refused as a whole. */
export function toCase(row: CaseRow): z.input<typeof trainingCase> {
  return {
    id: row.id,
    user_id: row.user_id,
    title: row.title,
    persona_id: row.persona_id,
    // The database lets only objects and arrays, and objects, into these.
    fields: row.fields as Record<string, unknown> | unknown[] | null,
    external_ref: row.external_ref as Record<string, unknown> | null,
    created_at: row.created_at,
  };
}
