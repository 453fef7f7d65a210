// From the JSON of a seed file to a file whose shape is right and whose every row has an id.
import { typeid } from 'typeid-js';
import type { z } from 'zod';
import { newId, type IdKind } from '../core/ids.ts';
import { collectFaults, SeedFault, type Faults, type PathPart } from './fault.ts';
import { seedFileSchema, type ParsedSeed, type ParsedTeam } from './schema.ts';

type Identified<T> = T extends { id?: string | undefined } ? Omit<T, 'id'> & { id: string } : T;
type WithIds<T> = { [K in keyof T]: T[K] extends (infer Item)[] ? Identified<Item>[] : T[K] };

/** A team of the file; every row has its id, given or made. */
export type SeedTeam = Identified<WithIds<ParsedTeam>>;
export type SeedFile = Omit<WithIds<ParsedSeed>, 'teams'> & { teams: SeedTeam[] };

/** Throws a {@link SeedFault} with every fault of the shape. What rows refer to is check.ts's. */
export function prepareSeed(file: unknown): SeedFile {
  const result = seedFileSchema.safeParse(file);
  if (!result.success) {
    const faults = collectFaults();
    for (const issue of result.error.issues) addIssue(faults, issue, []);
    throw new SeedFault(faults.list);
  }
  const seed = result.data;
  makeIds(seed.catalog, () => typeid('cat').toString());
  for (const team of seed.teams) {
    team.id ??= newId('team');
    for (const [list, kind] of LISTS) makeIds(team[list], () => newId(kind));
    for (const member of team.members) {
      if ((member.status ?? 'active') === 'active') member.user_id ??= newId('user');
    }
  }
  // Every optional id has just been filled in, which the type of the same object cannot follow.
  return seed as SeedFile;
}

const LISTS = [
  ['members', 'member'],
  ['trainings', 'training'],
  ['assignments', 'assignment'],
  ['cases', 'case'],
  ['crm_connections', 'crmConnection'],
  ['crm_deals', 'crmDeal'],
  ['crm_objections', 'crmObjection'],
  ['webhook_endpoints', 'webhookEndpoint'],
] as const satisfies readonly (readonly [keyof ParsedTeam, IdKind])[];

/** In file order: made ids ascend, so that they break the tie of equal creation times in the order of the file. */
function makeIds(rows: { id?: string | undefined }[], makeId: () => string): void {
  for (const row of rows) row.id ??= makeId();
}

type Issue = z.core.$ZodIssue;

function addIssue(faults: Faults, issue: Issue, prefix: readonly PathPart[]): void {
  const path = [
    ...prefix,
    ...issue.path.map((part) => (typeof part === 'number' ? part : String(part))),
  ];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) faults.add([...path, key], 'unknown field');
    return;
  }
  if (issue.code === 'invalid_union') {
    // "all" or a list: of a list with a fault inside, name that fault.
    const inside = issue.errors.find((branch) => branch.some((nested) => nested.path.length > 0));
    if (inside) {
      for (const nested of inside) addIssue(faults, nested, path);
      return;
    }
  }
  faults.add(path, issue.message);
}
