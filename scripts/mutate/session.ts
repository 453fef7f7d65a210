// One Vitest, and with it one Postgres, for all mutants. Vite hands out the instrumented copies.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createVitest } from 'vitest/node';
import type { Ended, Event, Pass } from './worker.ts';

/** How one pass of a test file ended. */
export type Outcome =
  | { readonly kind: 'ended'; readonly end: Ended }
  /** It looped, or ended its process. */
  | { readonly kind: 'hung' }
  /** Not tried, because an earlier pass hung. */
  | { readonly kind: 'open' };

export interface Session {
  /** Runs the test files beside each other, the passes of each one after the other. */
  run(
    passes: Readonly<Record<string, readonly Pass[]>>,
  ): Promise<Record<string, readonly Outcome[]>>;
  close(): Promise<void>;
}

/** A worker that has begun no test for so long is killed. */
const LIMIT_S = 90;

/** Where statements are declared; it tells the worker of them. */
const STATEMENTS = 'src/db/statement.ts';
const TELL_STATEMENTS = 'globalThis.__statements = declaredStatements;';

export async function openSession(
  texts: ReadonlyMap<string, string>,
  { workers }: { readonly workers: number },
): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), 'mutate-'));
  const log = join(folder, 'events.jsonl');
  const plugin = {
    name: 'mutants',
    enforce: 'pre' as const,
    transform(original: string, id: string) {
      const path = relative(process.cwd(), id);
      const tells = path === STATEMENTS ? `${original}\n${TELL_STATEMENTS}` : undefined;
      const code = texts.get(path) ?? tells;
      return code === undefined ? null : { code, map: null };
    },
  };
  const options = {
    config: resolve('test/vitest.config.ts'),
    watch: false,
    runner: resolve('scripts/mutate/worker.ts'),
    maxWorkers: workers,
    isolate: true,
    reporters: [{}],
    silent: true,
    // It knows a file by its own text, so it would hand out copies with the numbers of another run.
    fsModuleCache: false,
  };
  const vitest = await createVitest('test', options, { plugins: [plugin] });
  return {
    run: async (passes) => {
      writeFileSync(log, '');
      vitest.provide('mutation', { passes, log, limitS: LIMIT_S });
      const project = vitest.getRootProject();
      await vitest.runTestSpecifications(
        Object.keys(passes).map((file) => project.createSpecification(resolve(file))),
      );
      const events = readFileSync(log, 'utf8').split('\n').filter(Boolean);
      return readOutcomes(
        passes,
        events.map((line) => JSON.parse(line) as Event),
      );
    },
    close: async () => {
      await vitest.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readOutcomes(passes: Readonly<Record<string, readonly Pass[]>>, events: readonly Event[]) {
  const outcomes = Object.entries(passes).map(([file, ordered]) => {
    const own = events.filter((event) => event.file === file);
    if (own.length === 0) throw new Error(`${file} did not begin`);
    const last = own.at(-1);
    const list = ordered.map((_pass, place): Outcome => {
      const end = own.find((event) => event.event === 'end' && event.pass === place);
      if (end?.event === 'end') return { kind: 'ended', end };
      return { kind: last?.event === 'begin' && last.pass === place ? 'hung' : 'open' };
    });
    return [file, list] as const;
  });
  return Object.fromEntries(outcomes);
}
