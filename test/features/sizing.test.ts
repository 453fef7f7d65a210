// The doctor's forecast and the runbook's section "Sizing" have the figures of
// `sizing.heavy.test.ts`.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { BYTES_PER_ROW } from '../../src/doctor/sizing.ts';

test('the runbook has the same figures', async () => {
  const runbook = await readFile(
    new URL('../../scripts/deploy/README.md', import.meta.url),
    'utf8',
  );
  const section = runbook.split(/^## Sizing$/m)[1]?.split(/^## /m)[0] ?? '';
  const rows = section.matchAll(/^\| `(\w+)` +\| ([\d,]+) +\|/gm);
  const figures = [...rows].map(([, table, bytes = '']) => [
    table,
    Number(bytes.replaceAll(',', '')),
  ]);
  expect(Object.fromEntries(figures)).toEqual(BYTES_PER_ROW);
});
