// What a test file starts is stopped when the file ends, the latest first. Several files share a
// process and its modules, so this is asked by a setup file, not by hooks of the modules that start
// something.

type Stop = () => unknown;

const stops = new Set<Stop>();

/** Has `stop` called when the test file ends. Returns what to call if that is no longer needed. */
export function atEnd(stop: Stop): () => boolean {
  stops.add(stop);
  return () => stops.delete(stop);
}

/** Stops what the test file has started. All are tried; throws the first fault. */
export async function endFile(): Promise<void> {
  const faults: unknown[] = [];
  for (const stop of [...stops].toReversed()) {
    try {
      await stop();
    } catch (fault) {
      faults.push(fault);
    } finally {
      stops.delete(stop);
    }
  }
  if (faults.length > 0) throw faults[0];
}
