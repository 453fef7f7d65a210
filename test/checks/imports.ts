/**
 * The table "Imports" of ARCHITECTURE.md, as a check. oxlint's no-restricted-imports matches the
 * text of an import, so it cannot tell a feature's own service from another one's. This check reads
 * the import statements instead. To run it alone: node test/checks/imports.ts
 *
 * It also refuses SQL outside stores, and circles of imports between rooms. oxlint's
 * import/no-cycle refuses circles between files.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROLES, TABLE, type Place, type Role, type Rule } from './import-table.ts';

/** What the table does not allow, for instance as `file:line → target: why`. */
export type Violation = string;

const IMPORT = new RegExp(
  [
    /^\s*(?:import|export)\s+(?<type>type\s)?(?<names>[^'";]*?)from\s*'(?<from>[^']+)'/,
    /^\s*import\s*'(?<effect>[^']+)'/,
    /\bimport\(\s*'(?<dynamic>[^']+)'/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);
/** Folders of src whose own folders are rooms. */
const HAS_ROOMS = new Set(['db', 'delivery', 'http', 'http/api']);
const SQL = /\b(?:statement|statementsByFilters)[<(]|\.prisma\.\w/;

/** Resolves with what the files below `<root>/src` do against the table. */
export async function checkImports(root: string): Promise<Violation[]> {
  const src = join(root, 'src');
  const names = await readdir(src, { recursive: true });
  const files = await Promise.all(
    names.filter(isSource).map(async (name) => ({
      name,
      text: await readFile(join(src, name), 'utf8'),
    })),
  );
  const imports = files.flatMap((file) => importsOf(src, file));
  return [
    ...imports.flatMap((one) => refuse(src, one)),
    ...files.flatMap(refuseSql),
    ...findCircles(imports),
  ].toSorted();
}

/** Names and targets are relative to src. */
interface Source {
  readonly name: string;
  readonly text: string;
}

interface Import {
  readonly name: string;
  readonly line: number;
  readonly target: string;
  readonly typesOnly: boolean;
}

function isSource(name: string): boolean {
  return /\.tsx?$/.test(name) && !isGenerated(name);
}

function isGenerated(name: string): boolean {
  return name.startsWith(join('db', 'generated'));
}

function importsOf(src: string, { name, text }: Source): Import[] {
  return [...text.matchAll(IMPORT)].flatMap(({ groups = {}, index }) => {
    const specifier = groups['from'] ?? groups['effect'] ?? groups['dynamic'] ?? '';
    if (!specifier.startsWith('.')) return [];
    const line = text.slice(0, index).split('\n').length + (text[index] === '\n' ? 1 : 0);
    const target = relative(src, resolve(src, dirname(name), specifier));
    const typesOnly = groups['type'] !== undefined || namesOnlyTypes(groups['names'] ?? '');
    return [{ name, line, target, typesOnly }];
  });
}

/** `import { type A }`. The file would be loaded all the same, but nothing of it is used. */
function namesOnlyTypes(names: string): boolean {
  const parts = names
    .replace(/[{}]/g, '')
    .split(',')
    .map((part) => part.trim());
  const named = parts.filter((part) => part !== '');
  return named.length > 0 && named.every((part) => part.startsWith('type '));
}

function refuse(src: string, one: Import): Violation[] {
  const why = explainRefusal(src, one);
  return why === null ? [] : [`src/${one.name}:${one.line} → src/${one.target}: ${why}`];
}

function explainRefusal(src: string, { name, target, typesOnly }: Import): string | null {
  if (!isGenerated(target) && !existsSync(join(src, target)))
    return 'there is no such file; imports name it in full, with .ts';
  const from = placeOf(name);
  const rules = TABLE[from.room === 'features' ? from.role : from.room] ?? [];
  if (rules === 'everything') return null;
  if (target.startsWith('..')) return 'only entries may import from outside src';
  const to = placeOf(target);
  if (isFree(from, to)) return null;
  const fitting = rules.filter((rule) => fits(rule, from, to));
  if (fitting.some((rule) => rule.only !== 'types' || typesOnly)) return null;
  const verb = fitting.length > 0 ? 'may import only types of' : 'may not import';
  return `${describe(from)} ${verb} ${describe(to)}`;
}

/** Whether the table says nothing about the import, because both files belong together. */
function isFree(from: Place, to: Place): boolean {
  if (from.room !== to.room || from.feature !== to.feature) return false;
  if (isInDb(from.room)) return true;
  if (to.role === 'store' && from.folder !== to.folder) return false;
  return from.room !== 'features' || from.role === to.role;
}

function isInDb(room: string): boolean {
  return room === 'db' || room.startsWith('db/');
}

function fits({ room, role, feature }: Rule, from: Place, to: Place): boolean {
  if (room !== to.room) return false;
  if (role === undefined ? to.role === 'store' : role !== to.role) return false;
  if (feature === undefined) return true;
  if (feature === 'other') return from.feature !== to.feature;
  if (feature !== 'own') return feature === to.feature;
  if (from.feature !== to.feature) return false;
  return role !== 'store' || from.folder === to.folder;
}

function describe({ room, feature, folder, role }: Place): string {
  if (feature === null) return role === 'store' ? `a store of ${room}` : room;
  return `a ${role} of ${folder.slice('features/'.length)}`;
}

function placeOf(name: string): Place {
  const folder = dirname(name);
  const [first = '', second = ''] = name.split('/');
  const shared = { folder, role: roleOf(name), feature: null };
  if (folder === '.') return { ...shared, room: 'entry' };
  if (first === 'features') return { ...shared, room: first, feature: second };
  return { ...shared, room: isGenerated(name) ? first : roomAround(folder) };
}

function roomAround(folder: string): string {
  const [first = '', ...others] = folder.split('/');
  return others.reduce((room, name) => (HAS_ROOMS.has(room) ? join(room, name) : room), first);
}

function roleOf(name: string): Role {
  if (/(?:^|\/)providers\//.test(name)) return 'provider';
  const last = /([a-z]+)\.tsx?$/.exec(name)?.[1];
  return ROLES.find((role) => role === last) ?? 'part';
}

/** SQL is declared and Prisma is used only in stores and in src/db. */
function refuseSql({ name, text }: Source): Violation[] {
  const { room, role } = placeOf(name);
  const found = isInDb(room) || role === 'store' ? null : SQL.exec(text);
  if (found === null) return [];
  const line = text.slice(0, found.index).split('\n').length;
  return [`src/${name}:${line}: SQL may only be in a file whose name ends in "store"`];
}

/** Finds rooms that import each other, also over other rooms, also by types only. */
function findCircles(imports: readonly Import[]): Violation[] {
  const arrows = new Map<string, Set<string>>();
  for (const { name, target } of imports) {
    const [from, to] = [roomOf(name), roomOf(target)];
    if (from !== to) arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
  }
  const done = new Set<string>();
  const walk = (room: string, path: readonly string[]): Violation[] => {
    if (path.includes(room))
      return [`a circle of imports: ${[...path.slice(path.indexOf(room)), room].join(' → ')}`];
    if (done.has(room)) return [];
    const circles = [...(arrows.get(room) ?? [])].flatMap((next) => walk(next, [...path, room]));
    done.add(room);
    return circles;
  };
  return [...arrows.keys()].flatMap((room) => walk(room, []));
}

/** Each feature and each entry counts as a room of its own. */
function roomOf(name: string): string {
  const { room, feature } = placeOf(name);
  if (room === 'entry') return `src/${name}`;
  return feature === null ? `src/${room}` : `src/${room}/${feature}`;
}

if (import.meta.main) {
  const violations = await checkImports(fileURLToPath(new URL('../..', import.meta.url)));
  for (const violation of violations) console.error(violation);
  if (violations.length > 0) {
    console.error(`${violations.length} violations of the table "Imports" of ARCHITECTURE.md`);
    process.exitCode = 1;
  }
}
