import { printable } from '../../src/core/terminal.ts';
import { usageError } from '../../src/runtime/arguments.ts';
import type { Surroundings } from '../../src/runtime/command.ts';
import type { Wanted } from './arguments.ts';

/**
 * Asks for the team's id, unless `--yes` has said it. Returns whether it was said. Throws a usage
 * error where nobody can be asked, and for the id of another team.
 */
export async function confirm(
  { command, teamId, confirmed }: Wanted,
  ask: Surroundings['ask'],
): Promise<boolean> {
  if (confirmed === teamId) return true;
  if (confirmed !== null)
    throw usageError(`--yes ${confirmed} confirms another team than ${teamId}.`);
  if (ask === null) throw usageError(`"${command.name}" needs a confirmation: add --yes ${teamId}`);
  const answer = await ask(printable(`Type ${teamId} to go on: `));
  return answer.trim() === teamId;
}
