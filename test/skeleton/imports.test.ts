import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkImports } from '../checks/imports.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'imports-'));
});

afterEach(() => rm(root, { recursive: true }));

/** Writes the files, and an empty one for every import that they make. */
async function check(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) {
    await write(name, text);
    for (const [, specifier = ''] of text.matchAll(/'(\.[^']+)'/g)) {
      const target = join(dirname(name), specifier);
      if (!(target in files)) await write(target, '');
    }
  }
  return checkImports(root);
}

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), text);
}

describe('the import check', () => {
  it.each([
    ['src/core/a.ts', `import { b } from '../db/b.ts';`],
    ['src/core/a.ts', `import type { Config } from '../runtime/config.ts';`],
    ['src/db/a.ts', `import { b } from '../features/x/store.ts';`],
    ['src/features/x/rules.ts', `import { b } from './store.ts';`],
    ['src/features/x/schema.ts', `import { b } from '../../db/client.ts';`],
    ['src/features/x/view.ts', `import { b } from './store.ts';`],
    ['src/features/x/view.ts', `import type { B } from '../y/store.ts';`],
    ['src/features/x/store.ts', `import { b } from './service.ts';`],
    ['src/features/x/connections/router.ts', `import { b } from './store.ts';`],
    ['src/features/x/providers/a.ts', `import { b } from '../../../db/client.ts';`],
    ['src/features/x/providers/a.ts', `import { b } from '../sync/b.ts';`],
    ['src/features/x/service.ts', `import { b } from '../y/store.ts';`],
    ['src/features/x/service.ts', `import {\n  b,\n  c,\n} from '../y/schema.ts';`],
    ['src/features/x/router.ts', `import { b } from './store.ts';`],
    ['src/features/x/router.ts', `import { b } from '../y/service.ts';`],
    ['src/features/x/tasks.ts', `import { b } from './store.ts';`],
    ['src/features/x/tasks.ts', `const b = await import('../y/service.ts');`],
    ['src/delivery/a.ts', `import { b } from '../features/x/rules.ts';`],
    ['src/db/a.ts', `import { b } from '../delivery/b.ts';`],
    ['src/features/x/store.ts', `import { b } from '../../delivery/b.ts';`],
    ['src/features/x/router.ts', `import { b } from '../../delivery/b.ts';`],
    ['src/http/a.ts', `import { b } from '../features/trainings/service.ts';`],
    ['src/http/a.ts', `import '../features/api-keys/store.ts';`],
    ['src/trpc/init.ts', `export { b } from '../features/x/router.ts';`],
    ['src/admin-ui/a.tsx', `import { b } from '../routers/routers.ts';`],
    ['src/features/x/service.ts', `import { b } from '../../../test/support/b.ts';`],
  ])('refuses in %s: %s', async (name, text) => {
    const violations = await check({ [name]: text });
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(new RegExp(`^${name}:1 → .* may`));
  });

  it('allows what the table allows', async () => {
    const violations = await check({
      'src/db/client.ts': `import { a } from '../core/a.ts';\nimport { P } from './generated/client.ts';`,
      'src/features/x/view.ts': `import type { Row } from './store.ts';\nimport { type Row2 } from './store.ts';`,
      'src/features/x/service.ts': `import { a } from './store.ts';\nimport { b } from '../y/service.ts';\nimport { c } from './target.ts';`,
      'src/features/x/store.ts': `import type { B } from '../../delivery/b.ts';`,
      'src/features/z/service.ts': `import { b } from '../../delivery/b.ts';`,
      'src/delivery/a.ts': `import { a } from '../core/a.ts';\nimport { c } from '../db/client.ts';`,
      'src/features/x/router.ts': `import { a } from './service.ts';\nimport { b } from '../../trpc/init.ts';`,
      'src/routers/routers.ts': `import { a } from '../features/x/router.ts';`,
      'src/http/server.ts': `import { a } from '../routers/endpoints.ts';\nimport { b } from '../routers/routers.ts';`,
      'src/admin-ui/a.tsx': `import type { AppRouter } from '../routers/routers.ts';\nimport { b } from './b.tsx';`,
      'src/api.ts': `import { a } from './http/server.ts';\nimport { b } from './features/x/store.ts';`,
      'src/seed/load.ts': `import { a } from '../features/x/store.ts';`,
    });
    expect(violations).toEqual([]);
  });

  it('refuses an import that names no file, for type stripping would not find it', async () => {
    await write('src/core/b.ts', '');
    await write('src/core/a.ts', `import { b } from './b.js';`);
    expect(await checkImports(root)).toEqual([expect.stringMatching(/no such file/)]);
  });
});
