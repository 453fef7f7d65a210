/**
 * The change context as it is under the locks of a change. What authentication read may be old by
 * then: the transaction may have waited behind a change of just that.
 */
import { requireAccess } from '../core/access.ts';
import type { Actor, Current, SystemActor } from '../core/actor.ts';
import { hasApi } from '../core/plans.ts';
import { narrow, privacyOf, privacyOfCall, type CallPrivacy } from '../core/privacy.ts';
import { ProblemError, unknownId } from '../core/problem.ts';
import { isSandbox } from '../core/sandbox.ts';
import { statement, type Statement, type Tx } from './client.ts';
import type { ChangeContext, RecordContext } from './outbox.ts';
import type { RowOf } from './rows.ts';
import { lockTeam } from './team-lock.ts';

/**
 * The change context of a call by the host application, before its transaction. The transaction
 * reads the privacy switches.
 */
export type PlatformChangeContext = Omit<ChangeContext, 'privacy'>;

/** A change context before it is read: that of a call, or one that nobody responds to. */
export interface UnreadContext extends Omit<RecordContext, 'actor' | 'privacy'> {
  readonly actor: Actor | SystemActor;
  readonly privacy?: CallPrivacy;
}

/** A change context that was read under the locks. */
export type CurrentContext<C extends Pick<UnreadContext, 'actor'> = ChangeContext> = C & {
  readonly actor: C['actor'] & Current;
  readonly privacy: CallPrivacy;
  /** The team's plan. */
  readonly plan: string;
};

type TeamFacts = RowOf<'Team', 'plan' | 'member_detail_enabled' | 'leaderboard_enabled'>;

const READ = statement<TeamFacts>(
  'db.readTeamFacts',
  `select plan, member_detail_enabled, leaderboard_enabled
   from team
   where id = $1 and erasing_since is null`,
);

interface MemberPower extends TeamFacts, RowOf<'Member', 'role' | 'rights'> {
  readonly team_status: string;
}

const READ_WITH_MEMBER = statement<MemberPower>(
  'db.readMemberPower',
  `select t.status as team_status, t.plan, t.member_detail_enabled, t.leaderboard_enabled,
     m.role, m.rights
   from team t
   join member m on m.team_id = $1 and m.id = $2 and m.status = 'active'
   where t.id = $1 and t.erasing_since is null`,
);

interface KeyPower extends TeamFacts, RowOf<'Member', 'role' | 'status'> {
  readonly team_status: string;
}

// By the database's clock, which `authenticate_api_key` uses: the key may have ended after the
// time of the context.
const READ_WITH_KEY = statement<KeyPower>(
  'db.readKeyPower',
  `select t.status as team_status, t.plan, t.member_detail_enabled, t.leaderboard_enabled,
     m.role, m.status
   from team t
   join api_key k on k.team_id = $1 and k.id = $2
   join member m on m.team_id = $1 and m.id = k.created_by
   where t.id = $1
     and t.erasing_since is null
     and (k.revoked_at is null or k.revoked_at > clock_timestamp())
     and (k.expires_at is null or k.expires_at > clock_timestamp())`,
);

/**
 * Locks the team like `lockTeam`, and returns the context as it is then. A change that decides by
 * a role or a right begins with it. Costs no round trip of its own if it is sent together with
 * other statements, as the first of them. Throws like {@link readChangeContext}.
 */
export function lockTeamFor<C extends UnreadContext>(
  tx: Tx,
  context: C,
): Promise<CurrentContext<C>> {
  lockTeam(tx, context.teamId);
  return readChangeContext(tx, context);
}

/**
 * Reads again what the change depends on: the team's plan and privacy switches, and what the actor
 * may do. Call it after the transaction has waited for its locks. The call responds under these
 * switches, too ({@link CallPrivacy}).
 *
 * Refuses what authentication would refuse now: throws `unauthorized` for a key that has ended and
 * for a member who has left, `forbidden` for a member who has lost the access that the procedure
 * requires, and `api_disabled` for a team that was closed to the caller. For a service, throws
 * `not_found` if the team is unknown or being erased. The team may be suspended: the host
 * application goes on recording.
 *
 * In a sandbox the app's caller is its owner, whom nobody changes. What the caller may do comes
 * from the live team, which a change in the sandbox does not lock, so authentication decides. It
 * also decides whether a sandbox is open to keys: a suspension that was played may be overdue.
 */
export async function readChangeContext<C extends UnreadContext>(
  tx: Tx,
  context: C,
): Promise<CurrentContext<C>> {
  const { team, actor } = await readActor(tx, context);
  const privacy = privacyOf({
    memberDetailEnabled: team.member_detail_enabled,
    leaderboardEnabled: team.leaderboard_enabled,
  });
  if (context.privacy) narrow(context.privacy, privacy);
  return {
    ...context,
    privacy: privacyOfCall(privacy),
    plan: team.plan,
    actor: actor as C['actor'] & Current,
  };
}

/**
 * The context as authentication found it, for the one change that waits for no lock and is too
 * frequent for a statement more (`createAssignments`).
 */
export function asAuthenticated(context: ChangeContext): RecordContext {
  return { ...context, actor: context.actor as Actor & Current };
}

/** The context of a job that records nobody's data. It needs no look at the privacy switches. */
export function contextOfJob(context: Omit<UnreadContext, 'privacy'>): RecordContext {
  const privacy = privacyOf({ memberDetailEnabled: false, leaderboardEnabled: false });
  return { ...context, privacy, actor: context.actor as UnreadContext['actor'] & Current };
}

type Acting = Pick<UnreadContext, 'teamId' | 'actor'>;

async function readActor(
  tx: Tx,
  { teamId, actor }: Acting,
): Promise<Pick<Acting, 'actor'> & { readonly team: TeamFacts }> {
  if (actor.kind === 'api_key') {
    const power = await readPower(READ_WITH_KEY, tx, { teamId, actor });
    const { role, status, team_status: teamStatus, ...team } = power;
    if (!isSandbox(teamId) && (teamStatus !== 'active' || !hasApi(team.plan)))
      throw new ProblemError('api_disabled');
    return { team, actor: { ...actor, creator: { ...actor.creator, role, status } } };
  }
  if (actor.kind === 'user' && !isSandbox(teamId)) {
    const power = await readPower(READ_WITH_MEMBER, tx, { teamId, actor });
    const { role, rights, team_status: teamStatus, ...team } = power;
    const current = { ...actor, role, rights };
    // Without one, no guard has admitted the call.
    if (current.access === null) throw new ProblemError('forbidden');
    requireAccess(current, current.access);
    if (teamStatus !== 'active') throw new ProblemError('api_disabled');
    return { team, actor: current };
  }
  const team = await tx.queryFirst(READ, [teamId]);
  if (!team) throw unknownId('team_id');
  return { team, actor };
}

async function readPower<Row>(
  read: Statement<Row>,
  tx: Tx,
  { teamId, actor }: Acting,
): Promise<Row> {
  const row = await tx.queryFirst(read, [teamId, actor.id]);
  if (!row) throw new ProblemError('unauthorized');
  return row;
}
