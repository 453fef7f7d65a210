// Attacks by one caller, known or not.
import type { Attack } from '../world.ts';

export const byCallers: readonly Attack[] = [
  {
    name: 'a key that sends as many requests as it can',
    run: async ({ call, key, end }) => {
      const send = async (): Promise<void> => {
        while (!end.aborted) await call(key(), 'GET', '/users?limit=100');
      };
      await Promise.all(Array.from({ length: 32 }, send));
    },
  },
];
