/**
 * What operators can do with a team. Each command calls a procedure that the host application has,
 * too (`platform` in src/routers), in this process: with the same checks, the same transaction and
 * the same audit entries. It works while no API runs.
 *
 * Decisions:
 *  * The audit log names the actor `platform`, `operator`. With `--as NAME` it is `operator:NAME`.
 *    The team's admins read that log, so nobody's login is put there unasked. Each command prints
 *    its request id, which the entry has, too: that ties the entry to what the machine itself logs
 *    about its users.
 *  * A dry run is the real procedure in a transaction that is rolled back. So it is refused as the
 *    command would be, and tells what would be recorded. What asks for a confirmation begins with
 *    a dry run, so nobody confirms what is then refused. If that would record nothing, there is
 *    nothing to confirm: it is committed at once, since work that follows a commit may be left from
 *    a command that has died.
 *  * Whether a command has changed anything is read from the audit entries of its transaction, and
 *    not from what the team was before: two operators may act at once.
 *  * The procedure lets the host application set any status. A command says what it comes from:
 *    `suspend` and `resume` leave a team alone that has ended, and `reopen` is for these.
 *  * What the host application reports about its own work (trainings, evaluations, cases, the
 *    catalog, accepted invitations) has no command: it would be reported again.
 */
import type { TeamStatus } from '../../src/core/vocabularies.ts';

export interface Command {
  /** For instance `team suspend`. */
  readonly name: string;
  /** The procedure below `platform`. */
  readonly procedure: string;
  readonly does: string;
  /** The options of the example, behind the team. */
  readonly example: string;
  /** The status that the command sets. Then it sets nothing else. null: it leaves the status. */
  readonly sets: TeamStatus | null;
  /** The statuses that it may find; null: any. */
  readonly from: readonly TeamStatus[] | null;
  /** What happens to whom. The command asks for the team's id first. null: it does not ask. */
  readonly warning: string | null;
}

const DEFAULTS = { example: '', sets: null, from: null, warning: null };

const LISTED: readonly (Omit<Command, keyof typeof DEFAULTS> & Partial<Command>)[] = [
  {
    name: 'team create',
    procedure: 'teams.create',
    does: 'Creates a team with its owner.',
    example: '--name "Acme GmbH" --owner-user-id usr_kim --owner-email kim@example.com',
  },
  {
    name: 'team update',
    procedure: 'teams.update',
    does: 'Changes the name, plan, seats, language or limit of a team.',
    example: '--seats 100 --plan enterprise',
  },
  {
    name: 'team suspend',
    procedure: 'teams.update',
    does: 'Closes a team to its keys and its members, until it is resumed.',
    sets: 'suspended',
    from: ['active', 'suspended'],
  },
  {
    name: 'team resume',
    procedure: 'teams.update',
    does: 'Opens a suspended team again.',
    sets: 'active',
    from: ['active', 'suspended'],
  },
  {
    name: 'team end',
    procedure: 'teams.update',
    does: 'Ends a team. It can be reopened until it is erased.',
    sets: 'ended',
    warning: 'Its keys and its members are refused from then on. Its data stays.',
  },
  {
    name: 'team reopen',
    procedure: 'teams.update',
    does: 'Makes a team active again that was ended by mistake.',
    sets: 'active',
    from: ['active', 'ended'],
  },
  {
    name: 'team transfer',
    procedure: 'teams.transferOwnership',
    does: 'Makes an active member the owner.',
    example: '--member-id mem_lee',
    warning: 'The owner becomes an admin without rights, and the member becomes the owner.',
  },
  {
    name: 'team erase',
    procedure: 'teams.erase',
    does: 'Erases a team that has ended, with all that it has. Workers do it in the background.',
    warning: 'All its data and its sandbox are erased. This cannot be undone.',
  },
  {
    name: 'person delete',
    procedure: 'members.deletePerson',
    does: 'Ends the memberships of a person, and removes their email address everywhere.',
    example: '--user-id usr_kim',
    warning: 'Their memberships end, and their email address is removed. This cannot be undone.',
  },
  {
    name: 'key create-first',
    procedure: 'apiKeys.createFirst',
    does: 'Makes a key of the owner for a team without a live one, and prints it, once.',
    example: '--name Import --template read_only',
  },
  {
    name: 'key revoke',
    procedure: 'apiKeys.revoke',
    does: 'Ends a key at once, for instance one that has leaked.',
    example: '--key-id key_01jc4f3x',
    warning: 'All programs with this key are refused from then on. It cannot be revived.',
  },
  {
    name: 'sandbox create',
    procedure: 'teams.createSandbox',
    does: 'Gives a team a sandbox.',
    example: '--scenario typical',
  },
  {
    name: 'sandbox remove',
    procedure: 'teams.removeSandbox',
    does: 'Removes the sandbox of a team, with its keys.',
    warning: 'All data of its sandbox is erased. This cannot be undone.',
  },
];

export const COMMANDS: readonly Command[] = LISTED.map((one) => ({ ...DEFAULTS, ...one }));
