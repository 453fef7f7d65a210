/**
 * Changes whose response shows a secret. Sent again with the same input, such a change is the same
 * one, and its response has the same secret: so a lost response loses nothing.
 */
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';
import { retriesChange } from './retries.ts';

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
  const last = useRef<Sent | null>(null);
  return useMutation({
    mutationFn: (input: Input) => {
      last.current = nextSent(last.current, input);
      const { idempotencyKey } = last.current;
      return send(input, { context: { idempotencyKey } });
    },
    retry: retriesChange,
    onSuccess,
  });
}

/** What was sent last, and under which key. */
interface Sent {
  readonly text: string;
  readonly idempotencyKey: string;
}

/** What is sent now: the same as before if the input is the same. */
export function nextSent(last: Sent | null, input: unknown): Sent {
  const text = JSON.stringify(input);
  return last?.text === text ? last : { text, idempotencyKey: randomKey() };
}

/** `crypto.randomUUID` is missing where the page comes over http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
