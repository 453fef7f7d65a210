/**
 * `npm run mutate:sql` shows which small mistakes in the statements of the stores the tests would
 * miss: a condition dropped, an order turned around, a limit moved, a lock taken away. The mutated
 * text replaces the statement's own on its way to Postgres.
 *
 *   1. Each test file runs once without a mutant, which tells the statements that it sends.
 *   2. Each mutant runs with the six fastest test files that send its statement, until one fails.
 *
 * Options: `--only src/features/cases` (repeatable: a store or a folder), `--tests
 * 'test/stores/*.test.ts'`, `--sample 50` (every n-th mutant, so that about 50 are tried). Mutants
 * that change nothing are named in equivalent.json, with the reason; one that names no mutant, or a
 * mutant that a test kills, is an error. So is a test file that fails without a mutant.
 */
import '../../src/runtime/node-version.ts';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createVitest } from 'vitest/node';
import {
  readDeclarations,
  readEquivalent,
  readStatements,
  sqlMutants,
  staleOf,
  type Mutant,
} from './mutants.ts';
import type { Sent } from './replaced-statements.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: ['src/'] },
    tests: { type: 'string', default: 'test/{contract,db,features,stores,tasks}/**/*.test.ts' },
    sample: { type: 'string' },
  },
});

const TRIED_MAX = 6;

const declarations = readDeclarations();
const all = sqlMutants(declarations, await readStatements(declarations));
const wanted = all.filter(({ file }) => options.only.some((path) => file.startsWith(path)));
const step = Math.max(1, Math.round(wanted.length / Number(options.sample ?? Infinity)));
const mutants = wanted.filter((_mutant, index) => index % step === 0);

const folder = mkdtempSync(join(tmpdir(), 'mutate-'));
const log = join(folder, 'sent.jsonl');
process.env['MUTATED'] = 'sql';
const vitest = await createVitest('test', {
  config: resolve('scripts/mutate/vitest.config.ts'),
  watch: false,
  reporters: [{}],
  silent: true,
});
vitest.provide('sentStatements', log);

/** Runs the test files, one after the other. */
async function run(
  files: readonly string[],
  sql: Mutant['sql'],
): Promise<readonly { readonly file: string; readonly isOk: boolean; readonly ms: number }[]> {
  vitest.provide('mutatedStatements', sql);
  const project = vitest.getRootProject();
  const { testModules } = await vitest.runTestSpecifications(
    files.map((file) => project.createSpecification(resolve(file))),
  );
  return testModules.map((module) => ({
    file: relative(process.cwd(), module.moduleId),
    isOk: module.ok(),
    ms: module.diagnostic().duration,
  }));
}

/** Statement name → the test files that send it, the fastest first. */
async function learn(files: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  writeFileSync(log, '');
  const ran = await run(files, {});
  const failed = ran.filter(({ isOk }) => !isOk).map(({ file }) => file);
  if (failed.length > 0) throw new Error(`without a mutant, these fail: ${failed.join(', ')}`);
  const order = ran.toSorted((a, b) => a.ms - b.ms).map(({ file }) => file);
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  const sent = lines.map((line) => JSON.parse(line) as Sent);
  const pairs = sent.flatMap(({ file, names }) => names.map((name) => ({ file, name })));
  return new Map(
    [...Map.groupBy(pairs, ({ name }) => name)].map(([name, own]) => {
      const senders = new Set(own.map(({ file }) => file));
      return [name, order.filter((file) => senders.has(file))] as const;
    }),
  );
}

/** Returns the test file that fails with the mutant; null: none of those that are tried does. */
async function killerOf(
  { sql }: Mutant,
  senders: ReadonlyMap<string, readonly string[]>,
): Promise<string | null> {
  const files = new Set(Object.keys(sql).flatMap((name) => senders.get(name) ?? []));
  for (const file of [...files].slice(0, TRIED_MAX)) {
    // Vitest also returns the files of earlier runs.
    const ran = (await run([file], sql)).find((each) => each.file === file);
    if (ran?.isOk === false) return file;
  }
  return null;
}

async function tryAll(): Promise<readonly string[]> {
  const senders = await learn(
    globSync(options.tests, { exclude: ['test/**/*.{smoke,heavy}.test.ts'] }).toSorted(),
  );
  const equivalent = readEquivalent();
  const findings = staleOf(all, equivalent).map((id) => `equivalent.json names no mutant: ${id}`);
  for (const mutant of mutants) {
    const killer = await killerOf(mutant, senders);
    console.log(`${killer === null ? 'survived' : 'killed  '} ${mutant.id}`);
    const isKnown = equivalent[mutant.id] !== undefined;
    if (killer === null && !isKnown) findings.push(`${mutant.file}:${mutant.line} ${mutant.id}`);
    if (killer !== null && isKnown) findings.push(`not equivalent for ${killer}: ${mutant.id}`);
  }
  return findings;
}

let findings: readonly string[];
try {
  findings = await tryAll();
} finally {
  await vitest.close();
  rmSync(folder, { recursive: true });
}
console.log([`${mutants.length} mutants, ${findings.length} findings`, ...findings].join('\n'));
process.exit(findings.length > 0 ? 1 : 0);
