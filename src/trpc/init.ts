import { initTRPC } from '@trpc/server';
import type { CallerContext } from './context.ts';
import type { AppMeta, Meta } from './operation.ts';

/** tRPC with our context, meta and errors. Only the declarations in this folder use it. */
export const t = initTRPC
  .context<CallerContext>()
  .meta<Meta | AppMeta>()
  .create({
    // Replaces tRPC's own messages, so that both APIs describe an error in the same way.
    errorFormatter: ({ shape, error, ctx }) => {
      const problem = ctx?.describeError(error);
      if (!problem)
        return { ...shape, message: 'internal', data: { code: shape.data.code, problem: null } };
      return {
        ...shape,
        message: problem.title,
        data: { code: shape.data.code, httpStatus: problem.status, problem },
      };
    },
  });

/** Combines operations, procedures and other routers to a tRPC router. */
export const router = t.router;
