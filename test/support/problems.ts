/** Resolves with the problem that a call of the tRPC API was refused with. */
export async function problemOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await call;
  } catch (error) {
    return (error as { data: { problem: Record<string, unknown> } }).data.problem;
  }
  throw new Error('the call was not refused');
}
