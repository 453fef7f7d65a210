/** tRPC with our context, meta and errors. */
import { initTRPC } from '@trpc/server';
import type { CallerContext } from './context.ts';
import type { AppMeta, Meta } from './operation.ts';

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

export const router = t.router;
