/** Ctrl-C reaches us from the terminal and once more from npm, which passes it on: that is one signal, not two. */
const ECHO_MS = 300;
/** What is in flight gets this long (operations.md). A part ends what is late by itself; this is for one that hangs in doing so. */
const STOP_LIMIT_MS = 15_000;

/** Runs a part of the service until SIGTERM or SIGINT, then lets it stop cleanly; a second signal ends the process at once. */
export async function runUntilSignal(
  start: () => Promise<{ stop(): Promise<void> }>,
): Promise<void> {
  let stoppingSince: number | null = null;
  const running = start();
  const stop = (): void => {
    if (stoppingSince !== null && performance.now() - stoppingSince > ECHO_MS) process.exit(1);
    if (stoppingSince !== null) return;
    stoppingSince = performance.now();
    setTimeout(() => process.exit(0), STOP_LIMIT_MS).unref();
    running.then((part) => part.stop()).then(() => process.exit(0), fail);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await running.catch(fail);
}

function fail(error: unknown): never {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}

/** Node's error of a name with several addresses has its reasons inside, and no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('\n');
  return error instanceof Error ? error.message : String(error);
}
