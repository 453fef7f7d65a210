import { useState } from 'react';

/** What is done in a dialog over a page. */
interface Begun<Task> {
  /** null: no dialog is open. */
  readonly task: Task | null;
  readonly begin: (task: Task) => void;
  /** Closes the dialog of this task, and no other one. */
  readonly close: () => void;
}

/**
 * Which dialog of a page is open. A call of a dialog may be answered after the reader has closed
 * it. What its answer closes then must not be the next dialog, which may show a new key: so each
 * `close` is of one task, even if the same one is begun again.
 */
export function useTask<Task>(): Begun<Task> {
  const [begun, setBegun] = useState<{ readonly task: Task } | null>(null);
  return {
    task: begun?.task ?? null,
    begin: (task) => setBegun({ task }),
    close: () => setBegun((now) => (now === begun ? null : now)),
  };
}
