// The rules of objectives, whose tests look at days of figures.
import { describe, expect, test } from 'vitest';
import { because, run, whyNot } from '../support/debian.ts';

const reason = whyNot(['promtool']);

describe.skipIf(reason !== null)(`the rules of objectives${because(reason)}`, () => {
  test.for(['slo', 'slo-days'])(
    'of %s.promtool.yml fire at their thresholds and not before',
    async (name) => {
      const args = ['test', 'rules', `${name}.promtool.yml`];
      expect(await run('promtool', args, { cwd: import.meta.dirname })).toContain('SUCCESS');
    },
  );
});
