import { okOutput } from '../../core/shapes.ts';
import { platformChangeContextOf } from '../../trpc/context.ts';
import { platformProcedure } from '../../trpc/procedures.ts';
import { saveEntriesInput, saveRulesInput, saveTeamEntriesInput } from './platform-schema.ts';
import * as service from './platform-service.ts';
import { toEntryFacts } from './platform-view.ts';

/** How the host application saves catalog entries and rules. */
export const platformCatalog = {
  saveEntries: platformProcedure({ input: saveEntriesInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.saveEntries(ctx.db, input.entries.map(toEntryFacts));
      return { ok: true };
    },
  ),

  saveTeamEntries: platformProcedure({ input: saveTeamEntriesInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      const context = platformChangeContextOf(ctx, input.team_id);
      await service.saveTeamEntries(ctx.db, context, input.entries.map(toEntryFacts));
      return { ok: true };
    },
  ),

  saveRules: platformProcedure({ input: saveRulesInput, output: okOutput }).mutation(
    async ({ ctx, input }) => {
      await service.saveRules(ctx.db, input.rules);
      return { ok: true };
    },
  ),
};
