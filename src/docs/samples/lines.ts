/** Joins the lines of a program. `false` leaves a line out. */
export function lines(parts: readonly (string | false)[]): string {
  return `${parts.filter((part) => part !== false).join('\n')}\n`;
}

/** Indents every line. */
export function indented(parts: readonly (string | false)[], margin: string): string {
  return parts
    .filter((part) => part !== false)
    .map((part) => margin + part)
    .join('\n');
}
