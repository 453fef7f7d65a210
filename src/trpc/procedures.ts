/** Declarations of procedures without a REST route. */
import type { z } from 'zod';
import { requireAccess, type Access } from '../core/access.ts';
import { callerIdOf } from '../core/actor.ts';
import { withholderFor } from '../core/private-fields.ts';
import { ProblemError } from '../core/problem.ts';
import type { Db } from '../db/client.ts';
import { runCall, type OperationCall } from './call.ts';
import { runRepeatable, type PlatformContext } from './context.ts';
import { refuseUnstorableJson, requireActor, requireTeam } from './guards.ts';
import { t } from './init.ts';
import { protect, type ProtectionOf } from './protection.ts';

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
    readonly privacy?: 'redact';
  } & ProtectionOf<O>,
) {
  const { show } = protect({ ...declaration, name: 'a procedure', does: 'read' });
  const withholdSecret = withholderFor(declaration.output, 'secret');
  const withholdPersonal = withholderFor(declaration.output, 'personal') ?? same;
  return t.procedure
    .meta({ access: declaration.access })
    .use(async ({ ctx, path, getRawInput, next }) => {
      const teamContext = requireTeam(ctx, declaration.access);
      const input = await getRawInput();
      refuseUnstorableJson(input);
      const run = (db: Db) => next({ ctx: { ...teamContext, db } });
      const call: OperationCall = {
        prepare: null,
        perform: async (db) => dataOf(await run(db)),
        current: null,
        // Once the member has left, neither the secret nor what is personal is kept. In a sandbox
        // both stay for a day, as the rest does: its responses are those of another team.
        withhold: (output) =>
          withholdSecret && {
            kind: 'secret',
            output: withholdPersonal(withholdSecret(output)),
            subjectIds: [callerIdOf(teamContext.actor)],
          },
      };
      const data = withholdSecret
        ? await runRepeatable(teamContext, { name: path, input }, call)
        : await runCall(call, teamContext.db);
      // A repeated call has no result of `next`, whose mark is for tRPC's types alone.
      const shown = { ok: true, data: show(teamContext.privacy, data) };
      return shown as Awaited<ReturnType<typeof run>>;
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

function same(output: unknown): unknown {
  return output;
}

/** Throws what the work has thrown: a problem itself, and not what tRPC makes of it. */
function dataOf(
  result: { readonly ok: true; readonly data: unknown } | { readonly ok: false; error: Error },
): unknown {
  if (result.ok) return result.data;
  throw result.error.cause instanceof ProblemError ? result.error.cause : result.error;
}

/** The team that the input of a service names, before its shape is checked. */
function teamIdIn(input: unknown): string | null {
  const { team_id } = (input ?? {}) as { readonly team_id?: unknown };
  return typeof team_id === 'string' ? team_id : null;
}
