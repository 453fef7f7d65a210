/** What the status of a response means to the team: it is refused, or we have failed. */
export function toneOf(status: number): 'good' | 'warn' | 'bad' {
  if (status < 400) return 'good';
  return status < 500 ? 'warn' : 'bad';
}
