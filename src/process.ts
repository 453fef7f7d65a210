/** Runs a part of the service until SIGTERM or SIGINT, then lets it stop cleanly; a second signal ends the process at once. */
export async function runUntilSignal(start: () => Promise<{ stop(): Promise<void> }>): Promise<void> {
  let stopping = false;
  const running = start();
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    running.then((part) => part.stop()).then(() => process.exit(0), fail);
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await running.catch(fail);
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
