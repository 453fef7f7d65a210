import { printableJson, printableLines } from '../core/terminal.ts';
import type { Examined } from './examine.ts';
import type { Level } from './check.ts';

/** Returns the findings as lines for a terminal. */
export function reportText(examined: readonly Examined[]): string {
  const lines = examined.flatMap(({ id, section, findings }) =>
    findings.map(({ level, text, remedy }) => {
      const more = remedy === undefined ? '' : `. ${remedy} (runbook: ${section})`;
      return printableLines(`${level.padEnd(8)}${id.padEnd(22)}${text}${more}`);
    }),
  );
  const counts = (['ok', 'warn', 'fail', 'unknown'] as const).map(
    (level) => `${countOf(examined, level)} ${level}`,
  );
  return [...lines, counts.join(', ')].join('\n');
}

/** Returns them as JSON: one object for each check, with its findings. */
export function reportJson(examined: readonly Examined[]): string {
  const checked = { failed: hasFailed(examined), checks: examined };
  return printableJson(JSON.stringify(checked, null, 2));
}

/** Whether any finding is a failure. */
export function hasFailed(examined: readonly Examined[]): boolean {
  return countOf(examined, 'fail') > 0;
}

function countOf(examined: readonly Examined[], wanted: Level): number {
  return examined.flatMap(({ findings }) => findings.filter(({ level }) => level === wanted))
    .length;
}
