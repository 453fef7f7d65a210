import { createInterface } from 'node:readline';
import { printable } from '../../src/core/terminal.ts';
import { usageError, type Wanted } from './arguments.ts';

/**
 * Asks for the team's id, unless `--yes` has said it. Returns whether it was said. Throws a usage
 * error where nobody can be asked, and for the id of another team.
 */
export async function confirm({ command, teamId, confirmed }: Wanted): Promise<boolean> {
  if (confirmed === teamId) return true;
  if (confirmed !== null)
    throw usageError(`--yes ${confirmed} confirms another team than ${teamId}.`);
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw usageError(`"${command.name}" needs a confirmation: add --yes ${teamId}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    // Ctrl-C and Ctrl-D close it.
    terminal.once('close', () => resolve(''));
    terminal.question(printable(`Type ${teamId} to go on: `), resolve);
  });
  terminal.close();
  return answer.trim() === teamId;
}
