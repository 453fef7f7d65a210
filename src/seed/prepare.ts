// Turns the JSON of a seed file into a file of the right shape, in which every row has an id.
import { typeid } from 'typeid-js';
import type { z } from 'zod';
import { newId, type IdKind } from '../core/ids.ts';
import { collectFaults, SeedFault, type Faults, type PathPart } from './fault.ts';
import { seedFileSchema, type ParsedSeed, type ParsedTeam } from './schema.ts';

type Identified<T> = T extends { id?: string | undefined } ? Omit<T, 'id'> & { id: string } : T;
type WithIds<T> = { [K in keyof T]: T[K] extends (infer Item)[] ? Identified<Item>[] : T[K] };

/** A team of the file. Every row has an id: the given one or a new one. */
export type SeedTeam = Identified<WithIds<ParsedTeam>>;
/** A whole seed file. Every row has an id. */
export type SeedFile = Omit<WithIds<ParsedSeed>, 'teams'> & { teams: SeedTeam[] };

/**
 * Parses a seed file and gives an id to every row that has none. Throws a {@link SeedFault} with
 * every fault of the shape. References between rows are checked in check.ts.
 */
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
    for (const [list, kind] of LISTS_WITH_IDS) makeIds(team[list], () => newId(kind));
    for (const member of team.members) {
      if ((member.status ?? 'active') === 'active') member.user_id ??= newId('user');
    }
  }
  // Every optional id is set by now. TypeScript cannot see that, because the object is the same.
  return seed as SeedFile;
}

/** The lists of a team whose rows have an id, and the kind of that id. */
export const LISTS_WITH_IDS = [
  ['members', 'member'],
  ['trainings', 'training'],
  ['assignments', 'assignment'],
  ['cases', 'case'],
  ['crm_connections', 'crmConnection'],
  ['crm_deals', 'crmDeal'],
  ['crm_objections', 'crmObjection'],
  ['webhook_endpoints', 'webhookEndpoint'],
  ['webhook_deliveries', 'webhookDelivery'],
] as const satisfies readonly (readonly [keyof ParsedTeam, IdKind])[];

/**
 * Makes the missing ids in file order. New ids ascend, so of two rows with the same creation time,
 * the later one in the file counts as newer.
 */
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
    // A union is "all" or a list. If the fault is inside the list, report that fault.
    const inside = issue.errors.find((branch) => branch.some((nested) => nested.path.length > 0));
    if (inside) {
      for (const nested of inside) addIssue(faults, nested, path);
      return;
    }
  }
  faults.add(path, issue.message);
}
