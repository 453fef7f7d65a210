import type { Caller } from '../caller.ts';
import type { Observe } from '../wire/ask.ts';

/** Lets the trace of a caller, if there is one, hear of the statements, too. */
export function alsoTrace(observeFor: (caller: Caller) => Observe): (caller: Caller) => Observe {
  return (caller) => {
    const observe = observeFor(caller);
    const { trace } = caller;
    if (!trace) return observe;
    return (statement, sentAt, error) => {
      observe(statement, sentAt, error);
      trace.step(statement.name, sentAt, codeOf(error));
    };
  };
}

/** The code of an error. Its message may quote values, so nothing else may go into a trace. */
function codeOf(error: Error | null): string | null {
  if (error === null) return null;
  return 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}

/** Adds to the caller's trace what Prisma sends. Of its text only the first word is told. */
export function traced<T>({ trace }: Caller, text: string, answer: Promise<T>): Promise<T> {
  if (!trace) return answer;
  const sentAt = performance.now();
  const name = `prisma.${text.slice(0, 6).toLowerCase()}`;
  const tell = (error: Error | null): void => trace.step(name, sentAt, codeOf(error));
  answer.then(() => tell(null), tell);
  return answer;
}
