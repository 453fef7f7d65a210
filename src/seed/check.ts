// Checks the rows of a seed file against each other and against the database. These checks cover
// everything that the database would refuse later, so that the user reads a JSON path instead of a
// constraint name.
import { isSandbox, modeOf, SANDBOX_OWNER } from '../core/sandbox.ts';
import { scopesOf } from '../core/scopes.ts';
import { collectFaults, type Fault, type Faults, type PathPart } from './fault.ts';
import { checkGenerate } from './generate-plan.ts';
import type { Known } from './known.ts';
import { LISTS_WITH_IDS, type SeedFile, type SeedTeam } from './prepare.ts';

/** Returns all faults, team by team. With `replace`, a team that exists already is no fault. */
export function checkSeed(seed: SeedFile, known: Known, options: { replace: boolean }): Fault[] {
  const faults = collectFaults();
  checkCatalog(faults, seed, known);
  checkCatalogRules(faults, seed);
  const catalogIds = new Set([
    ...known.catalogIds,
    ...seed.catalog.filter((entry) => !entry.team).map((entry) => entry.id),
  ]);
  checkUnique(faults, ['teams'], seed.teams, 'id');
  seed.teams.forEach((team, index) => {
    const path = ['teams', index];
    if (!options.replace && known.teams.has(team.id)) {
      faults.add([...path, 'id'], `the team ${team.id} already exists; --replace removes it first`);
    }
    checkReleases(faults, path, team, catalogIds);
    checkMembers(faults, path, team);
    checkSandbox(faults, path, team);
    checkReferences(faults, path, team);
    checkEvaluations(faults, path, team);
    checkExternalIds(faults, path, team);
    checkUnique(faults, [...path, 'api_keys'], team.api_keys, 'name');
    checkScopes(faults, path, team);
    checkUniqueIds(faults, path, team);
    checkGenerate(faults, path, team);
  });
  return faults.list;
}

function checkCatalog(faults: Faults, seed: SeedFile, known: Known): void {
  const teams = new Set([...known.teams, ...seed.teams.map((team) => team.id)]);
  const seen = new Set<string>();
  seed.catalog.forEach((entry, index) => {
    if (entry.team && !teams.has(entry.team))
      faults.add(['catalog', index, 'team'], `no team ${entry.team}`);
    const key = JSON.stringify([entry.team ?? null, entry.id]);
    if (seen.has(key)) faults.add(['catalog', index, 'id'], `${entry.id} appears twice`);
    seen.add(key);
  });
}

function checkCatalogRules(faults: Faults, seed: SeedFile): void {
  seed.catalog_rules.forEach((rule, index) => {
    const set = [rule.situation, rule.personality, rule.industry].filter(
      (id) => typeof id === 'string',
    );
    if (set.length < 2)
      faults.add(
        ['catalog_rules', index],
        'must name two or three of situation, personality, industry',
      );
  });
}

function checkReleases(
  faults: Faults,
  path: readonly PathPart[],
  team: SeedTeam,
  catalogIds: ReadonlySet<string>,
): void {
  if (!Array.isArray(team.released)) return;
  team.released.forEach((id, index) => {
    if (!catalogIds.has(id))
      faults.add([...path, 'released', index], `no global catalog entry ${id}`);
  });
}

function checkScopes(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const mode = modeOf(team.id);
  team.api_keys.forEach(({ scopes = [] }, index) => {
    if (scopes === 'all') return;
    scopes.forEach((scope, place) => {
      if (!scopesOf(mode).includes(scope))
        faults.add([...path, 'api_keys', index, 'scopes', place], `a ${mode} key cannot have it`);
    });
  });
}

function checkMembers(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const emails = new Set<string>();
  const users = new Set<string>();
  let owners = 0;
  team.members.forEach((member, index) => {
    const at = [...path, 'members', index];
    if (member.status === 'ended') return;
    const email = member.email.toLowerCase();
    if (emails.has(email))
      faults.add([...at, 'email'], 'another active or invited member has this email');
    emails.add(email);
    if (member.user_id) {
      if (users.has(member.user_id))
        faults.add([...at, 'user_id'], 'another active or invited member has this user_id');
      users.add(member.user_id);
      if (member.status === 'invited')
        faults.add(
          [...at, 'user_id'],
          'an invited member has none before the invitation is accepted',
        );
    }
    if (member.role !== 'owner') return;
    owners += 1;
    if (owners > 1) faults.add([...at, 'role'], 'the team already has an owner');
    if (member.status === 'invited') faults.add([...at, 'status'], 'the owner must be active');
  });
  if (owners === 0) faults.add([...path, 'members'], 'one member must be the owner');
}

/** Its admins act as its owner, and a reset leaves only that member. */
function checkSandbox(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  if (!isSandbox(team.id)) return;
  const { memberId, userId } = SANDBOX_OWNER;
  team.members.forEach(({ role, id, user_id }, index) => {
    if (role === 'owner' && (id !== memberId || user_id !== userId))
      faults.add(
        [...path, 'members', index],
        `the owner of a sandbox has the id ${memberId} and the user_id ${userId}`,
      );
  });
  team.api_keys.forEach(({ created_by }, index) => {
    if (created_by !== undefined && created_by !== memberId)
      faults.add(
        [...path, 'api_keys', index, 'created_by'],
        'the keys of a sandbox are those of its owner',
      );
  });
}

/**
 * The seats of a team for which the file sets none. More members than seats are no fault, because a
 * team may have switched to a smaller plan.
 */
export const DEFAULT_SEATS = 25;

function checkEvaluations(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  team.trainings.forEach(({ evaluation, status }, index) => {
    if (evaluation && status !== 'scored')
      faults.add(
        [...path, 'trainings', index, 'evaluation'],
        `only a scored training has an evaluation; this one is ${status}`,
      );
  });
}

function checkExternalIds(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const seen = new Set<string>();
  team.crm_deals.forEach((deal, index) => {
    const connection = deal.connection_id ?? team.crm_connections[0]?.id;
    const key = JSON.stringify([connection, deal.external_id ?? deal.id]);
    if (seen.has(key))
      faults.add(
        [...path, 'crm_deals', index, 'external_id'],
        'another deal of the connection has this external_id',
      );
    seen.add(key);
  });
}

type ListWithIds = (typeof LISTS_WITH_IDS)[number][0];

/** A field with the id of a row of another list, and the word for such a row. */
type Reference = {
  readonly [L in ListWithIds | 'api_keys']: {
    readonly list: L;
    readonly field: keyof SeedTeam[L][number] & string;
    readonly to: ListWithIds;
    readonly word: string;
    /** The field of such a row that it names; its id by default. */
    readonly by?: 'user_id';
    /** Left out, it names the first row of that list, so there must be one. */
    readonly isFirst?: boolean;
  };
}[ListWithIds | 'api_keys'];

/** Of a person, as a member of any status, because history outlives a membership. */
const OF_USER = { to: 'members', by: 'user_id', word: 'member with the user_id' } as const;

const REFERENCES: readonly Reference[] = [
  { list: 'api_keys', field: 'created_by', to: 'members', word: 'member' },
  { list: 'trainings', field: 'assignment_id', to: 'assignments', word: 'assignment' },
  { list: 'assignments', field: 'member_id', to: 'members', word: 'member' },
  { list: 'assignments', field: 'completed_training_id', to: 'trainings', word: 'training' },
  {
    list: 'crm_deals',
    field: 'connection_id',
    to: 'crm_connections',
    word: 'connection',
    isFirst: true,
  },
  { list: 'crm_objections', field: 'deal_id', to: 'crm_deals', word: 'deal', isFirst: true },
  {
    list: 'webhook_deliveries',
    field: 'endpoint_id',
    to: 'webhook_endpoints',
    word: 'webhook endpoint',
    isFirst: true,
  },
  { list: 'trainings', field: 'user_id', ...OF_USER },
  { list: 'cases', field: 'user_id', ...OF_USER },
  { list: 'crm_deals', field: 'owner_user_id', ...OF_USER },
];

function checkReferences(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  for (const { list, field, to, word, by = 'id', isFirst } of REFERENCES) {
    const ids = new Set(team[to].map((row: Partial<Record<string, unknown>>) => row[by]));
    const rows: readonly Partial<Record<string, unknown>>[] = team[list];
    rows.forEach((row, index) => {
      const named = row[field] as string | null | undefined;
      const id = named ?? (isFirst ? team[to][0]?.id : null);
      if (id === undefined || (id !== null && !ids.has(id)))
        faults.add(
          [...path, list, index, field],
          id === undefined ? `the team has no ${word}` : `no ${word} ${id}`,
        );
    });
  }
}

function checkUniqueIds(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  for (const [list] of LISTS_WITH_IDS)
    checkUnique<{ id: string }>(faults, [...path, list], team[list], 'id');
}

function checkUnique<T>(
  faults: Faults,
  path: readonly PathPart[],
  rows: readonly T[],
  field: keyof T & string,
): void {
  const seen = new Set<unknown>();
  rows.forEach((row, index) => {
    if (seen.has(row[field]))
      faults.add([...path, index, field], `${String(row[field])} appears twice`);
    seen.add(row[field]);
  });
}
