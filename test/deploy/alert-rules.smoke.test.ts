// The rules of scripts/deploy/prometheus, as promtool reads them. Those of objectives, whose tests
// look at days, are in `alert-rules.heavy`.
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { because, run, whyNot } from '../support/debian.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const CONFIGURATION = fileURLToPath(new URL('../../scripts/deploy/prometheus', import.meta.url));
const reason = whyNot(['promtool']);

describe.skipIf(reason !== null)(`the rules of alerts${because(reason)}`, () => {
  test.for(['alerts', 'postgres'])(
    'of %s.promtool.yml fire at their thresholds and not before',
    async (name) => {
      const said = await run('promtool', ['test', 'rules', `${name}.promtool.yml`], { cwd: here });
      expect(said).toContain('SUCCESS');
    },
  );

  test('are read from a valid configuration, with containers and with units', async () => {
    for (const name of ['prometheus.yml', 'prometheus.units.yml'])
      expect(await run('promtool', ['check', 'config', name], { cwd: CONFIGURATION })).toContain(
        'SUCCESS',
      );
  });
});
