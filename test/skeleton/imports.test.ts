import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkImports } from '../checks/imports.ts';
import { makeFolder } from '../support/folder.ts';

let root: string;

beforeEach(async () => {
  root = await makeFolder('imports');
});

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
    ['src/db/a.ts', `import { b } from '../delivery/b.ts';`],
    ['src/trpc/init.ts', `export { b } from '../features/x/router.ts';`],
    ['src/trpc/init.ts', `import { b } from '../db/client.ts';`],
    ['src/delivery/a.ts', `import { b } from '../features/x/rules.ts';`],
    ['src/features/x/rules.ts', `import { b } from './store.ts';`],
    ['src/features/x/jobs.ts', `import { b } from './service.ts';`],
    ['src/features/x/schema.ts', `import { b } from '../../db/client.ts';`],
    ['src/features/x/view.ts', `import { b } from './store.ts';`],
    ['src/features/x/view.ts', `import type { B } from '../y/store.ts';`],
    ['src/features/x/store.ts', `import { b } from './service.ts';`],
    ['src/features/x/store.ts', `import { b } from './part.ts';`],
    ['src/features/x/store.ts', `import { b } from '../../delivery/b.ts';`],
    ['src/features/x/connections/store.ts', `import { b } from '../sync/run-store.ts';`],
    ['src/features/x/connections/router.ts', `import { b } from './store.ts';`],
    ['src/features/x/sync/part.ts', `import { b } from '../connections/store.ts';`],
    ['src/features/x/providers/a.ts', `import { b } from '../../../db/client.ts';`],
    ['src/features/x/providers/a.ts', `import { b } from '../sync/b.ts';`],
    ['src/features/x/service.ts', `import { b } from '../y/store.ts';`],
    ['src/features/x/service.ts', `import {\n  b,\n  c,\n} from '../y/schema.ts';`],
    ['src/features/x/service.ts', `import { b } from '../../delivery/claim-store.ts';`],
    ['src/features/x/service.ts', `import { b } from '../../../test/support/b.ts';`],
    ['src/features/x/platform-service.ts', `import { b } from './router.ts';`],
    ['src/features/x/router.ts', `import { b } from './store.ts';`],
    ['src/features/x/router.ts', `import { b } from './part.ts';`],
    ['src/features/x/router.ts', `import { b } from '../y/service.ts';`],
    ['src/features/x/router.ts', `import { b } from '../../delivery/b.ts';`],
    ['src/features/x/admin-router.ts', `import { b } from './admin-store.ts';`],
    ['src/features/x/tasks.ts', `import { b } from './store.ts';`],
    ['src/features/x/tasks.ts', `const b = await import('../y/service.ts');`],
    ['src/routers/routers.ts', `import { b } from '../features/x/service.ts';`],
    ['src/runtime/a.ts', `import { b } from '../delivery/waiting-store.ts';`],
    ['src/runtime/a.ts', `import { b } from '../delivery/b.ts';`],
    ['src/http/api/a.ts', `import { b } from '../../features/trainings/service.ts';`],
    ['src/http/api/a.ts', `import '../../features/api-keys/store.ts';`],
    ['src/http/api/a.ts', `import { b } from '../openapi/b.ts';`],
    ['src/http/app/a.ts', `import { b } from '../api/authentication/key-store.ts';`],
    ['src/http/api/rest.ts', `import { b } from './authentication/key-store.ts';`],
    ['src/http/api/authentication/a.ts', `import { b } from '../routes.ts';`],
    ['src/http/openapi/a.ts', `import { b } from '../../docs/b.ts';`],
    ['src/docs/a.ts', `import { b } from '../routers/routers.ts';`],
    ['src/http/server.ts', `import { b } from './app/caller-store.ts';`],
    ['src/http/server.ts', `import { b } from '../runtime/config.ts';`],
    ['src/client/a.ts', `import { b } from '../core/events.ts';`],
    ['src/seed/load.ts', `import { b } from '../features/x/store.ts';`],
    ['src/seed/load.ts', `import { b } from '../features/x/service.ts';`],
    ['src/admin-ui/a.tsx', `import { b } from '../routers/routers.ts';`],
    ['src/new-room/a.ts', `import { b } from '../core/b.ts';`],
  ])('refuses in %s: %s', async (name, text) => {
    const violations = await check({ [name]: text });
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(new RegExp(`^${name}:1 → .* may`));
  });

  it('allows what the table allows', async () => {
    const violations = await check({
      'src/db/client.ts': lines(
        `import { a } from '../core/a.ts';`,
        `import { P } from './generated/client.ts';`,
      ),
      'src/delivery/a.ts': lines(
        `import { a } from '../core/a.ts';`,
        `import { b } from './claim-store.ts';`,
        `import { c } from '../db/client.ts';`,
      ),
      'src/features/x/view.ts': lines(
        `import type { Row } from './store.ts';`,
        `import { type Row2 } from './store.ts';`,
      ),
      'src/features/x/store.ts': lines(
        `import type { B } from '../../delivery/b.ts';`,
        `import { JOB } from './jobs.ts';`,
        `import { c } from './platform-store.ts';`,
      ),
      'src/features/x/part.ts': `import { a } from './pause-store.ts';`,
      'src/features/x/service.ts': lines(
        `import { a } from './store.ts';`,
        `import { b } from '../y/service.ts';`,
        `import { c } from './target.ts';`,
      ),
      'src/features/z/service.ts': `import { b } from '../../delivery/b.ts';`,
      'src/features/x/router.ts': lines(
        `import { a } from './service.ts';`,
        `import { b } from '../../trpc/init.ts';`,
      ),
      'src/routers/routers.ts': `import { a } from '../features/x/router.ts';`,
      'src/http/api/rest.ts': lines(
        `import { a } from './idempotency-store.ts';`,
        `import { c } from './authentication/authenticator.ts';`,
        `import { b } from '../../routers/endpoints.ts';`,
      ),
      'src/http/app/trpc.ts': lines(
        `import { a } from '../api/language.ts';`,
        `import { b } from '../../routers/routers.ts';`,
      ),
      'src/docs/pages.ts': `import { a } from '../http/openapi/webhooks.ts';`,
      'src/http/server.ts': lines(
        `import { a } from './api/rest.ts';`,
        `import type { B } from '../runtime/config.ts';`,
      ),
      'src/admin-ui/a.tsx': lines(
        `import type { AppRouter } from '../routers/routers.ts';`,
        `import { b } from './b.tsx';`,
      ),
      'src/seed/load.ts': `import { a } from '../features/analytics/rollups-store.ts';`,
      'src/api.ts': lines(
        `import { a } from './http/server.ts';`,
        `import { b } from './features/x/store.ts';`,
      ),
    });
    expect(violations).toEqual([]);
  });

  it('refuses an import that names no file, for type stripping would not find it', async () => {
    await write('src/core/b.ts', '');
    await write('src/core/a.ts', `import { b } from './b.js';`);
    expect(await checkImports(root)).toEqual([expect.stringMatching(/no such file/)]);
  });

  it.each([
    `const LIST = statement<Row>('x.list', 'select 1');`,
    `const SAVE = statement('x.save', 'select 1');`,
    `export const a = statementsByFilters(['b'], declare);`,
    `export const a = (db) => db.prisma.member.count();`,
  ])('refuses SQL in a file that is no store: %s', async (text) => {
    const violations = await check({
      'src/db/a.ts': text,
      'src/features/x/store.ts': text,
      'src/delivery/claim-store.ts': text,
      'src/features/x/pause.ts': `\n${text}`,
      'src/http/api/b.ts': text,
    });
    expect(violations).toEqual([
      expect.stringMatching('^src/features/x/pause.ts:2: SQL may only be'),
      expect.stringMatching('^src/http/api/b.ts:1: SQL may only be'),
    ]);
  });

  it('refuses a circle of rooms, even one of types', async () => {
    const violations = await check({
      'src/features/x/service.ts': `import { b } from '../y/service.ts';`,
      'src/features/y/platform-service.ts': `import type { B } from '../z/service.ts';`,
      'src/features/z/service.ts': `import type { B } from '../x/platform-service.ts';`,
    });
    expect(violations).toEqual([
      expect.stringMatching(/^a circle of imports: src\/features\/(\w) → .* → src\/features\/\1$/),
    ]);
  });
});

function lines(...texts: string[]): string {
  return texts.join('\n');
}
