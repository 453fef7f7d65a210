/** The list with `one` at its end, or without it. */
export function toggled(list: readonly string[], one: string, isIn: boolean): string[] {
  const others = list.filter((other) => other !== one);
  return isIn ? [...others, one] : others;
}
