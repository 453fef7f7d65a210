import type { z } from 'zod';
import { newId } from '../../core/ids.ts';
import { ProblemError, unknownId } from '../../core/problem.ts';
import { isSandbox } from '../../core/sandbox.ts';
import type { Db } from '../../db/client.ts';
import { record } from '../../db/outbox.ts';
import { lockTeam } from '../../db/team-lock.ts';
import { readChangeContext, type PlatformChangeContext } from '../../db/change-context.ts';
import * as rules from './rules.ts';
import type { createInput, updateInput } from './schema.ts';
import * as store from './store.ts';

/** The created team. */
export interface Creation {
  readonly teamId: string;
  readonly ownerMemberId: string;
}

/**
 * Creates a team with its owner. A repeated call with the same input changes nothing. Opens a
 * transaction. Emits `member.joined`. Throws `conflict` if the team was created with other input.
 */
export async function createTeam(
  db: Db,
  context: PlatformChangeContext,
  input: z.output<typeof createInput>,
): Promise<Creation> {
  const { teamId, at } = context;
  const { owner, team_id: _teamId, ...facts } = input;
  const hash = rules.hashCreation(input);
  return db.transaction(async (tx) => {
    const team = {
      id: teamId,
      ...facts,
      status: 'active' as const,
      creation_hash: hash,
      created_at: at.toISOString(),
    };
    if (!(await store.insertTeam(tx, team))) {
      const creation = await store.findCreation(tx, teamId, owner.user_id);
      if (!creation?.hash.equals(hash))
        throw new ProblemError('conflict', {
          detail: 'The team already exists and was created with other input, or is being erased.',
        });
      return { teamId, ownerMemberId: creation.ownerMemberId };
    }
    const memberId = owner.member_id ?? newId('member');
    await store.insertOwner(
      tx,
      teamId,
      { memberId, userId: owner.user_id, email: owner.email },
      at,
    );
    record(tx, await readChangeContext(tx, context), {
      audit: { action: 'team.created', targetId: teamId, details: { owner_member_id: memberId } },
      events: [
        {
          type: 'member.joined',
          data: { member_id: memberId, role: 'owner', user_id: owner.user_id },
        },
      ],
    });
    return { teamId, ownerMemberId: memberId };
  });
}

/** Inserts the first member of a new team. */
export { insertOwner as addOwner } from './store.ts';

/** Sets the given fields and returns the team. Opens a transaction. Throws `not_found`. */
export async function updateTeam(
  db: Db,
  context: PlatformChangeContext,
  input: z.output<typeof updateInput>,
): Promise<store.TeamRow> {
  const { team_id: teamId, ...named } = input;
  return db.transaction(async (tx) => {
    const before = await store.findTeamForUpdate(tx, teamId);
    if (!before) throw unknownId('team_id');
    const changes = Object.entries(named).filter(
      ([name, value]) => value !== undefined && value !== before[name as keyof typeof named],
    );
    if (changes.length === 0) return before;
    const former = changes.map(([name]) => [name, before[name as keyof typeof named]]);
    const row: store.TeamRow = { ...before, ...Object.fromEntries(changes) };
    await store.updateTeam(tx, row);
    if (!isSandbox(teamId)) await store.updateSandbox(tx, row);
    record(tx, await readChangeContext(tx, context), {
      audit: {
        action: 'team.updated',
        targetId: teamId,
        details: { from: Object.fromEntries(former), to: Object.fromEntries(changes) },
      },
    });
    return row;
  });
}

/**
 * Makes the member the owner, and the owner an admin. A repeated call changes nothing. Opens a
 * transaction. Throws `not_found`, and `validation_error` (field `member_id`) for an invited
 * member.
 */
export async function transferOwnership(
  db: Db,
  context: PlatformChangeContext,
  memberId: string,
): Promise<void> {
  const { teamId } = context;
  await db.transaction(async (tx) => {
    lockTeam(tx, teamId);
    const [current, found] = await Promise.all([
      readChangeContext(tx, context),
      store.findOwnerAndMember(tx, teamId, memberId),
    ]);
    const member = found.find(({ id }) => id === memberId);
    const owner = found.find(({ role }) => role === 'owner');
    if (!member) throw unknownId('member_id');
    rules.requireMayOwn(member);
    if (member === owner) return;
    if (owner) await store.makeAdmin(tx, teamId, owner.id);
    await store.makeOwner(tx, teamId, memberId);
    record(tx, current, {
      audit: {
        action: 'team.ownership_transferred',
        targetId: memberId,
        details: { from: owner?.id ?? null },
      },
    });
  });
}
