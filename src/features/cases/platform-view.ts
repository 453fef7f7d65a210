import type { z } from 'zod';
import type { platformCase } from './platform-schema.ts';
import type { StoredCaseRow } from './store.ts';
import { toCase } from './view.ts';

/** The case as the host application sees it. */
export function toPlatformCase(row: StoredCaseRow): z.input<typeof platformCase> {
  return { ...toCase(row), private: row.private };
}
