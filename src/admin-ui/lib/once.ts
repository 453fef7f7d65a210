/**
 * Changes whose response shows a secret. Sent again with the same input, such a change is the same
 * one, and its response has the same secret: so a lost response loses nothing.
 */
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { problemOf } from './problem.ts';

const TRIES = 2;
/** Another try may end differently. `conflict`: the first one is still running. */
const PASSING: readonly string[] = ['network', 'unavailable', 'conflict'];

/** What a call says to `api.ts` besides its input. */
export interface CallContext {
  readonly idempotencyKey?: string;
}

export function useSecretMutation<Input, Output>({
  send,
  onSuccess,
}: {
  readonly send: (
    input: Input,
    options: { readonly context: CallContext & Record<string, unknown> },
  ) => Promise<Output>;
  readonly onSuccess: () => unknown;
}) {
  const last = useRef<{ readonly text: string; readonly idempotencyKey: string } | null>(null);
  return useMutation({
    mutationFn: (input: Input) => {
      const text = JSON.stringify(input);
      if (last.current?.text !== text) last.current = { text, idempotencyKey: randomKey() };
      const { idempotencyKey } = last.current;
      return send(input, { context: { idempotencyKey } });
    },
    retry: (failures, error) => failures < TRIES && PASSING.includes(problemOf(error).code),
    onSuccess,
  });
}

/** `crypto.randomUUID` is missing where the page comes over http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
