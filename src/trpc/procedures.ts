/** Declarations of procedures without a REST route. */
import type { z } from 'zod';
import { requireAccess, type Access } from '../core/access.ts';
import { ProblemError } from '../core/problem.ts';
import type { PlatformContext } from './context.ts';
import { refuseUnstorableJson, requireActor, requireTeam } from './guards.ts';
import { t } from './init.ts';
import { protect, type Protection, type ProtectionOf } from './protection.ts';

/**
 * Declares a procedure without a REST route, for members of a team. The guard checks the access,
 * then the text and the shape of the input. It does *not* check who owns an id: each store function
 * does that by the team id that it takes.
 */
export function appProcedure<O extends z.ZodType, I extends z.ZodObject | z.ZodDiscriminatedUnion>(
  declaration: {
    readonly access: Exclude<Access, 'platform'>;
    readonly input: I;
    readonly output: O;
    /** How personal fields of the output are protected. An output that has some needs it. */
    readonly privacy?: Exclude<Protection, object>;
  } & ProtectionOf<O>,
) {
  const { check, show } = protect({ ...declaration, name: 'a procedure', isRead: true });
  return t.procedure
    .meta({ access: declaration.access })
    .use(async ({ ctx, getRawInput, next }) => {
      const teamContext = requireTeam(ctx, declaration.access);
      refuseUnstorableJson(await getRawInput());
      check(teamContext.privacy);
      const result = await next({ ctx: teamContext });
      if (!result.ok) return result;
      return { ...result, data: show(teamContext.privacy, result.data) };
    })
    .input(declaration.input)
    .output(declaration.output);
}

/**
 * Declares a procedure for services of the host application, which name the team in the input. It
 * has the same guard as `appProcedure`. Personal fields are shown: they are about the host
 * application's own users, and most of them it has just sent.
 */
export function platformProcedure<O extends z.ZodType, I extends z.ZodObject>(declaration: {
  readonly input: I;
  readonly output: O;
}) {
  return t.procedure
    .meta({ access: 'platform' })
    .use(async ({ ctx, getRawInput, next }) => {
      const actor = requireActor(ctx);
      requireAccess(actor, 'platform');
      if (actor.kind !== 'platform') throw new ProblemError('forbidden');
      const input = await getRawInput();
      refuseUnstorableJson(input);
      const db = ctx.dbFor(teamIdIn(input));
      return next({ ctx: { ...ctx, actor, db } satisfies PlatformContext });
    })
    .input(declaration.input)
    .output(declaration.output);
}

/** The team that the input of a service names, before its shape is checked. */
function teamIdIn(input: unknown): string | null {
  const { team_id } = (input ?? {}) as { readonly team_id?: unknown };
  return typeof team_id === 'string' ? team_id : null;
}
