import type { z } from 'zod';
import type { trainingCase } from './schema.ts';
import type { CaseRow } from './store.ts';

/** Fields in the specification's order. */
export function toCase(row: CaseRow): z.input<typeof trainingCase> {
  return {
    id: row.id,
    user_id: row.user_id,
    title: row.title,
    persona_id: row.persona_id,
    // The database allows only objects and arrays in `fields`, only objects in `external_ref`.
    fields: row.fields as Record<string, unknown> | unknown[] | null,
    external_ref: row.external_ref as Record<string, unknown> | null,
    created_at: row.created_at,
  };
}
