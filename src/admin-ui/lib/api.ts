/** The calls of the tRPC API, with a cache of what was read. */
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { createTRPCClient, httpLink } from '@trpc/client';
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '../../routers/routers.ts';
import { currentLanguage, onLanguage } from '../i18n/language.ts';
import { fetchWithTime } from './clock.ts';
import type { CallContext } from './once.ts';
import { problemOf } from './problem.ts';
import { IS_SANDBOX } from './mode.ts';
import { concernsSession, retriesRead } from './retries.ts';
import { freshHeaders, loadSession, onReopened } from './session.ts';
import { SERVICE_PATH } from './shell.ts';

const FRESH_MS = 15_000;

const noticeChangesOfSession = (error: unknown): void => {
  if (concernsSession(error, IS_SANDBOX)) void loadSession();
};

const noticeFailure = (error: unknown): void => {
  noticeChangesOfSession(error);
  // Nobody knows whether the change was made, so look.
  if (problemOf(error).code === 'network') void queryClient.invalidateQueries();
};

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeChangesOfSession }),
  mutationCache: new MutationCache({
    onError: noticeFailure,
    // A change is an entry of the audit log, which is read again when the reader goes there.
    onSuccess: () =>
      queryClient.invalidateQueries({ ...api.admin.auditLog.pathFilter(), refetchType: 'none' }),
  }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // Another admin may have changed something while the reader was elsewhere.
      refetchOnWindowFocus: 'always',
      retry: retriesRead,
    },
    // Offline, a change fails at once. Waiting, it could be made long after the reader gave it up.
    mutations: { retry: false, networkMode: 'always' },
  },
});

// What was refused meanwhile is read again.
onReopened(() => void queryClient.invalidateQueries());

// Some answers have texts in the language of the call, such as the names of the catalog. What is
// being read for the first time would go on in the former language.
onLanguage(() => {
  void queryClient.cancelQueries().then(() => queryClient.invalidateQueries());
});

/** Calls without the cache. */
export const client = createTRPCClient<AppRouter>({
  links: [
    httpLink({
      url: `${SERVICE_PATH}/trpc`,
      // An optional signal may be undefined, which `RequestInit` does not say.
      fetch: (url, init) => fetchWithTime(url, init as RequestInit),
      headers: async ({ op }) => {
        const { idempotencyKey } = op.context as CallContext;
        return {
          ...(await freshHeaders()),
          'accept-language': currentLanguage(),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        };
      },
    }),
  ],
});

/** Options for TanStack Query, one for each procedure. */
export const api = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

/** What each procedure returns. */
export type RouterOutputs = inferRouterOutputs<AppRouter>;

/** What each procedure takes. */
export type RouterInputs = inferRouterInputs<AppRouter>;
