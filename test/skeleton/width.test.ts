import { describe, expect, it } from 'vitest';
import { findFaults } from '../checks/width.ts';

const WIDE = 'x'.repeat(101);

describe('the check of lines', () => {
  it('counts columns, not bytes, and names the line', () => {
    expect(findFaults('src/a.ts', `${'ü'.repeat(100)}\n${WIDE}`)).toEqual([
      'src/a.ts:2: 101 columns',
    ]);
  });

  it('refuses references to documents that are not in the tree', () => {
    for (const name of ['decisions ' + '7', 'operations.' + 'md', '/work/' + 'shared/a'])
      expect(findFaults('README.md', `see ${name}`)).toHaveLength(1);
  });

  it.each([
    ['README.md', `| ${WIDE} |`],
    ['README.md', `[a link](https://example.com/${WIDE})`],
  ])('accepts what cannot be broken: %s', (file, text) => {
    expect(findFaults(file, text)).toEqual([]);
  });
});
