import { initTRPC, type TRPCError } from '@trpc/server';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import type { CallerContext } from './context.ts';
import type { AppMeta, Meta } from './operation.ts';

type Code = TRPCError['code'];

/** tRPC's own code for the status of a problem. */
const CODES: Readonly<Record<number, Code>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

/** An error with which tRPC refuses a request before it has a context. */
export interface EarlyError extends TRPCError {
  /** Set by the server of the app, in `onError`. */
  describeError?: CallerContext['describeError'];
}

/** tRPC with our context, meta and errors. Only the declarations in this folder use it. */
export const t = initTRPC
  .context<CallerContext>()
  .meta<Meta | AppMeta>()
  .create({
    // Replaces tRPC's own messages, so that both APIs describe an error in the same way.
    errorFormatter: ({ shape, error, ctx }) => {
      const { describeError }: Partial<CallerContext> = ctx ?? (error as EarlyError);
      const problem = describeError?.(error);
      if (!problem) {
        // tRPC takes the status of its answer from here.
        const { code, httpStatus } = shape.data;
        return { ...shape, message: 'internal', data: { code, httpStatus, problem: null } };
      }
      const code = CODES[problem.status] ?? shape.data.code;
      return {
        ...shape,
        code: TRPC_ERROR_CODES_BY_KEY[code],
        message: problem.title,
        data: { code, httpStatus: problem.status, problem },
      };
    },
  });

/** Combines operations, procedures and other routers to a tRPC router. */
export const router = t.router;
