import type { z } from 'zod';
import type { platformCase } from './platform-schema.ts';
import type { PlatformCaseRow } from './platform-store.ts';
import { toCase } from './view.ts';

/** For the host application, which sees private cases, too. */
export function toPlatformCase(row: PlatformCaseRow): z.input<typeof platformCase> {
  return { ...toCase(row), private: row.private };
}
