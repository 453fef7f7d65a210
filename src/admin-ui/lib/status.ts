/** How a response is coloured: good, refused (`warn`), or failed by an error of ours (`bad`). */
export function toneOf(status: number): 'good' | 'warn' | 'bad' {
  if (status < 400) return 'good';
  return status < 500 ? 'warn' : 'bad';
}
