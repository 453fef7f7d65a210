// Checks the rows of a seed file against each other and against the database. These checks cover
// everything that the database would refuse later, so that the user reads a JSON path instead of a
// constraint name.
import { isSandbox, SANDBOX_OWNER } from '../core/sandbox.ts';
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
    checkMembers(faults, path, team, known);
    checkSandbox(faults, path, team);
    checkKeys(faults, path, team);
    checkTrainings(faults, path, team);
    checkAssignments(faults, path, team);
    checkUsers(faults, path, team, 'cases', 'user_id');
    checkCrm(faults, path, team);
    checkDeliveries(faults, path, team);
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

function checkMembers(
  faults: Faults,
  path: readonly PathPart[],
  team: SeedTeam,
  known: Known,
): void {
  const emails = new Set<string>();
  const users = new Set<string>();
  let owners = 0;
  team.members.forEach((member, index) => {
    const at = [...path, 'members', index];
    if (member.status === 'ended') return;
    const email = known.lowerEmail(member.email);
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

function checkKeys(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const members = idsOf(team.members);
  checkUnique(faults, [...path, 'api_keys'], team.api_keys, 'name');
  team.api_keys.forEach((key, index) => {
    const by = key.created_by;
    if (by !== undefined && !members.has(by))
      faults.add([...path, 'api_keys', index, 'created_by'], `no member ${by}`);
  });
}

function checkTrainings(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const assignments = idsOf(team.assignments);
  checkUsers(faults, path, team, 'trainings', 'user_id');
  team.trainings.forEach((training, index) => {
    const at = (field: string) => [...path, 'trainings', index, field];
    const assignment = training.assignment_id;
    if (assignment && !assignments.has(assignment))
      faults.add(at('assignment_id'), `no assignment ${assignment}`);
    if (training.evaluation && training.status !== 'scored') {
      faults.add(
        at('evaluation'),
        `only a scored training has an evaluation; this one is ${training.status}`,
      );
    }
  });
}

function checkAssignments(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const members = idsOf(team.members);
  const trainings = idsOf(team.trainings);
  team.assignments.forEach((assignment, index) => {
    const at = (field: string) => [...path, 'assignments', index, field];
    const { member_id: member, completed_training_id: training } = assignment;
    if (member !== undefined && !members.has(member))
      faults.add(at('member_id'), `no member ${member}`);
    if (training && !trainings.has(training))
      faults.add(at('completed_training_id'), `no training ${training}`);
  });
}

function checkCrm(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const connections = idsOf(team.crm_connections);
  const deals = idsOf(team.crm_deals);
  const externalIds = new Set<string>();
  const [first] = team.crm_connections;
  checkUsers(faults, path, team, 'crm_deals', 'owner_user_id');
  team.crm_deals.forEach((deal, index) => {
    const at = (field: string) => [...path, 'crm_deals', index, field];
    const connection = deal.connection_id ?? first?.id;
    if (connection === undefined || !connections.has(connection)) {
      faults.add(
        at('connection_id'),
        connection === undefined ? 'the team has no connection' : `no connection ${connection}`,
      );
    }
    const key = JSON.stringify([connection, deal.external_id ?? deal.id]);
    if (externalIds.has(key))
      faults.add(at('external_id'), 'another deal of the connection has this external_id');
    externalIds.add(key);
  });
  team.crm_objections.forEach((objection, index) => {
    const deal = objection.deal_id ?? team.crm_deals[0]?.id;
    if (deal !== undefined && deals.has(deal)) return;
    faults.add(
      [...path, 'crm_objections', index, 'deal_id'],
      deal === undefined ? 'the team has no deal' : `no deal ${deal}`,
    );
  });
}

function checkDeliveries(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const endpoints = idsOf(team.webhook_endpoints);
  team.webhook_deliveries.forEach((delivery, index) => {
    const endpoint = delivery.endpoint_id ?? team.webhook_endpoints[0]?.id;
    if (endpoint !== undefined && endpoints.has(endpoint)) return;
    faults.add(
      [...path, 'webhook_deliveries', index, 'endpoint_id'],
      endpoint === undefined ? 'the team has no webhook endpoint' : `no endpoint ${endpoint}`,
    );
  });
}

/** A user_id must be that of a team member of any status, because history outlives a membership. */
function checkUsers<L extends 'trainings' | 'cases' | 'crm_deals'>(
  faults: Faults,
  path: readonly PathPart[],
  team: SeedTeam,
  list: L,
  field: L extends 'crm_deals' ? 'owner_user_id' : 'user_id',
): void {
  const users = new Set(team.members.map((member) => member.user_id));
  const rows: readonly Partial<Record<string, unknown>>[] = team[list];
  rows.forEach((row, index) => {
    const user = row[field];
    if (typeof user === 'string' && !users.has(user))
      faults.add([...path, list, index, field], `no member has the user_id ${user}`);
  });
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

function idsOf(rows: readonly { id: string }[]): Set<string> {
  return new Set(rows.map((row) => row.id));
}
