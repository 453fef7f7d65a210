// What a test file may not use in its tier: a clock, chance and, in `core`, processes. Run as a
// program it prints the faults of all files, or of those that are given.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { tierOf, type Tier } from '../tiers.ts';

interface Rule {
  readonly name: string;
  readonly tiers: readonly Tier[];
  readonly pattern: RegExp;
}

const REPEATABLE: readonly Tier[] = ['core', 'smoke'];

const RULES: readonly Rule[] = [
  { name: 'measures time', tiers: REPEATABLE, pattern: /\bperformance\.now\b/ },
  {
    name: 'measures time',
    tiers: REPEATABLE,
    // `new Date(Date.now() - DAY_MS)` is a date, and no measurement.
    pattern: /(?<!new Date\()\bDate\.now\(\)\s*-\s*[a-z]|-\s*Date\.now\(\)/,
  },
  { name: 'measures the processor', tiers: REPEATABLE, pattern: /\b(?:cpu|resource)Usage\b/ },
  { name: 'tries again', tiers: REPEATABLE, pattern: /\bretry: \d/ },
  { name: 'draws unseeded numbers', tiers: REPEATABLE, pattern: /\bMath\.random\b/ },
  { name: 'seeds by itself', tiers: REPEATABLE, pattern: /\bconfigureGlobal\b/ },
  { name: 'sleeps', tiers: ['core'], pattern: /\bset(?:Timeout|Interval)\(|timers\/promises/ },
  { name: 'starts a process', tiers: ['core'], pattern: /['"]node:child_process['"]/ },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const STARTERS = findStarters();

/** Helpers that start processes, by themselves or by others of them. */
function findStarters(): ReadonlySet<string> {
  const helpers = globSync('test/support/**/*.ts', { cwd: root }).map((file) => ({
    name: basename(file),
    source: readFileSync(join(root, file), 'utf8'),
  }));
  const starters = new Set(['child_process']);
  const isStarter = ({ source }: { source: string }): boolean =>
    [...source.matchAll(/^import (?!type ).*? from '(?:node:|[./]+)([\w./-]+)'/gms)].some(
      ([, path = '']) => starters.has(basename(path)),
    );
  for (let size = 0; size < starters.size;) {
    size = starters.size;
    for (const helper of helpers.filter(isStarter)) starters.add(helper.name);
  }
  return starters;
}

/** Returns what a file does that its tier excludes; `file` from the root of the repository. */
export function tierFaults(file: string, source: string): string[] {
  const tier = tierOf(root, file);
  const faults = RULES.filter(({ tiers, pattern }) => tiers.includes(tier) && pattern.test(source));
  const starters = [...source.matchAll(/from '(?:\.\.\/)+support\/([\w/-]+\.ts)'/g)]
    .map(([, path = '']) => basename(path))
    .filter((name) => tier === 'core' && STARTERS.has(name));
  return [
    ...faults.map(({ name, pattern }) => `${name}: ${pattern.exec(source)?.[0].trim() ?? ''}`),
    ...starters.map((name) => `starts a process: by support/${name}`),
    ...(tier === 'core' ? ownLimits(file, source) : []),
  ].map((fault) => `${file} (${tier}) ${fault}`);
}

const TAKES_LIMIT = /^(?:test|it|describe|beforeAll|beforeEach|afterAll|afterEach)\b/;

/** The tests and hooks of a file that are given a time limit of their own. */
function ownLimits(file: string, source: string): string[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && TAKES_LIMIT.test(node.expression.getText())) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
      if (hasLimit(node.arguments)) found.push(`has a time limit of its own: line ${line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

function hasLimit(given: readonly ts.Expression[]): boolean {
  return given.some((argument, index) =>
    ts.isObjectLiteralExpression(argument)
      ? argument.properties.some((property) => property.name?.getText() === 'timeout')
      : index > 0 && /^(?:[\d_]+|[A-Z_]+_MS)$/.test(argument.getText()),
  );
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const files = given.length > 0 ? given : globSync('test/**/*.test.ts', { cwd: root }).toSorted();
  const faults = files.flatMap((file) => tierFaults(file, readFileSync(join(root, file), 'utf8')));
  for (const fault of faults) console.log(fault);
  if (faults.length > 0) process.exitCode = 1;
}
