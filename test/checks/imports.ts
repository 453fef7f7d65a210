// The table "Imports" of ARCHITECTURE.md, as a check. oxlint's no-restricted-imports knows patterns of import texts, not
// "its own service" or "another feature's service", so the statements are read here. Run alone: node test/checks/imports.ts
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One import that the table does not allow, as `file:line from → target: why`. */
export type Violation = string;

/** Where a file stands: its layer, and in `src/features` also its feature and role (the file name). */
interface Place {
  layer: string;
  feature: string | null;
}

/** `own` and `other` compare the features, any other text names one. `types`: only `import type`. */
interface Rule {
  layer: string;
  feature?: string;
  only?: 'types';
}

const core: Rule = { layer: 'core' };
const db: Rule = { layer: 'db' };
const ownFiles: Rule[] = ['schema', 'rules', 'view', 'store', 'part', 'provider'].map((layer) => ({
  layer,
  feature: 'own',
}));

/**
 * Who may import what; a layer may always import itself. Folders in a feature's folder do not count,
 * but `providers`. `part` is any other file in a feature's folder.
 */
const table: Readonly<Record<string, readonly Rule[] | 'everything'>> = {
  core: [],
  db: [core],
  delivery: [core, db],
  provider: [core],
  schema: [core, { layer: 'provider', feature: 'own' }],
  rules: [core],
  view: [
    core,
    { layer: 'schema', feature: 'own', only: 'types' },
    { layer: 'store', feature: 'own', only: 'types' },
  ],
  store: [
    db,
    core,
    { layer: 'rules', feature: 'own' },
    { layer: 'part', feature: 'own', only: 'types' },
    { layer: 'delivery', only: 'types' },
    { layer: 'provider', feature: 'own', only: 'types' },
  ],
  part: [
    db,
    core,
    { layer: 'schema', feature: 'own' },
    { layer: 'rules', feature: 'own' },
    { layer: 'store', feature: 'own' },
    { layer: 'provider', feature: 'own' },
  ],
  service: [...ownFiles, db, core, { layer: 'delivery' }, { layer: 'service', feature: 'other' }],
  router: [
    { layer: 'service', feature: 'own' },
    { layer: 'part', feature: 'own' },
    { layer: 'schema', feature: 'own' },
    { layer: 'view', feature: 'own' },
    { layer: 'trpc' },
    core,
  ],
  tasks: [
    { layer: 'service', feature: 'own' },
    { layer: 'view', feature: 'own' },
    { layer: 'part', feature: 'own' },
    db,
    core,
  ],
  trpc: [core, db],
  routers: [core, db, { layer: 'trpc' }, { layer: 'router' }],
  runtime: [core, db, { layer: 'delivery' }],
  http: [{ layer: 'routers' }, { layer: 'trpc' }, core, db, { layer: 'runtime', only: 'types' }],
  'admin-ui': ['core', 'db', 'schema', 'trpc', 'routers', 'router', 'view'].map((layer) => ({
    layer,
    only: 'types',
  })),
  client: [],
  entry: 'everything',
};

const roles = new Set(['schema', 'rules', 'view', 'store', 'service', 'router', 'tasks']);
const statement =
  /^\s*(?:import|export)\s+(?<type>type\s)?(?<names>[^'";]*?)from\s*'(?<from>[^']+)'|^\s*import\s*'(?<effect>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/gm;

/** Reads every file below `<root>/src` and resolves with what the table does not allow. */
export async function checkImports(root: string): Promise<Violation[]> {
  const src = join(root, 'src');
  const names = await readdir(src, { recursive: true });
  const files = names.filter(
    (name) => /\.tsx?$/.test(name) && !name.startsWith(join('db', 'generated')),
  );
  const found = await Promise.all(files.map((name) => checkFile(src, name)));
  return found.flat().toSorted();
}

async function checkFile(src: string, name: string): Promise<Violation[]> {
  const text = await readFile(join(src, name), 'utf8');
  return [...text.matchAll(statement)].flatMap(({ groups = {}, index }) => {
    const specifier = groups['from'] ?? groups['effect'] ?? groups['dynamic'] ?? '';
    if (!specifier.startsWith('.')) return [];
    const target = relative(src, resolve(src, dirname(name), specifier));
    const typesOnly = groups['type'] !== undefined || namesOnlyTypes(groups['names'] ?? '');
    const why = explainRefusal({ src, name, target, typesOnly });
    const line = text.slice(0, index).split('\n').length + (text[index] === '\n' ? 1 : 0);
    return why === null ? [] : [`src/${name}:${line} → src/${target}: ${why}`];
  });
}

function explainRefusal(edge: {
  src: string;
  name: string;
  target: string;
  typesOnly: boolean;
}): string | null {
  const { src, name, target, typesOnly } = edge;
  const generated = target.startsWith(join('db', 'generated'));
  if (!generated && !existsSync(join(src, target)))
    return 'there is no such file; imports name it in full, with .ts';
  const from = placeOf(name);
  const rules = table[from.layer] ?? [];
  if (rules === 'everything') return null;
  if (target.startsWith('..')) return 'only entries may import from outside src';
  const to = placeOf(target);
  if (from.layer === to.layer && from.feature === to.feature) return null;
  const fitting = rules.filter((rule) => fits(rule, from, to));
  if (fitting.some((rule) => rule.only !== 'types' || typesOnly)) return null;
  const what = to.feature === null ? to.layer : `${to.feature}'s ${to.layer}`;
  const who = from.feature === null ? from.layer : `a ${from.layer}`;
  return fitting.length > 0
    ? `${who} may import only types of ${what}`
    : `${who} may not import ${what}`;
}

function fits(rule: Rule, from: Place, to: Place): boolean {
  if (rule.layer !== to.layer) return false;
  if (rule.feature === undefined) return true;
  if (rule.feature === 'own') return from.feature === to.feature;
  if (rule.feature === 'other') return from.feature !== to.feature;
  return rule.feature === to.feature;
}

/** `name` is relative to src. Files directly in src, and src/seed, are entries. */
function placeOf(name: string): Place {
  const [folder = '', feature = '', ...rest] = name.split('/');
  if (!name.includes('/') || folder === 'seed') return { layer: 'entry', feature: null };
  if (folder !== 'features') return { layer: folder, feature: null };
  if (rest.length > 1 && rest[0] === 'providers') return { layer: 'provider', feature };
  // Files for one kind of caller have a prefix: platform-service.ts is a service, too.
  const role = (rest.at(-1) ?? '').replace(/^(?:platform|admin|resend)-|\.ts$/g, '');
  return { layer: roles.has(role) ? role : 'part', feature };
}

/** `import { type A, type B }`; verbatimModuleSyntax would still load the file, but nothing of it is used. */
function namesOnlyTypes(names: string): boolean {
  const parts = names
    .replace(/[{}]/g, '')
    .split(',')
    .map((part) => part.trim());
  const named = parts.filter((part) => part !== '');
  return named.length > 0 && named.every((part) => part.startsWith('type '));
}

if (import.meta.main) {
  const violations = await checkImports(fileURLToPath(new URL('../..', import.meta.url)));
  for (const violation of violations) console.error(violation);
  if (violations.length > 0) {
    console.error(`${violations.length} imports against the table "Imports" of ARCHITECTURE.md`);
    process.exitCode = 1;
  }
}
