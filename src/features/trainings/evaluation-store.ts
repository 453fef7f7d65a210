/** Evaluations as the API reads them: one by itself, or as a part of the trainings of a page. */
import type { z } from 'zod';
import type { tip } from '../../core/evaluation-shapes.ts';
import { PAGE_MAX_BYTES } from '../../core/page.ts';
import { statement, type Db } from '../../db/client.ts';
import { bytesOf, thatFit, type PageText } from '../../db/page-size.ts';
import { columnsOf, listed, type RowOf } from '../../db/rows.ts';

const SHOWN = columnsOf('Evaluation', 'team_id', 'saved_at', 'stored_at');

/** An evaluation and the person of its training. */
export interface EvaluationRow extends RowOf<'Evaluation', (typeof SHOWN)[number]> {
  readonly dimensions: Record<string, number>;
  readonly tips: z.output<typeof tip>[];
}

// What the host application fills of an evaluation. Postgres knows the size of a text, but of JSON
// only how large it is stored: it may be compressed.
const STORED_BYTES = `coalesce(pg_column_size(e_tips), 0)
           + ${bytesOf('e_goal', 'e_strongest', 'e_biggest_lever')}`;

/**
 * SQL: rows of a page, each with its `evaluation`, an `EvaluationRow` or null. `rows` reads
 * `columns`, with the training's `id` among them, and `bytes`.
 *
 * The page ends by what the evaluations have as JSON, which only reading them tells. So at first it
 * ends by how large they are stored: of 1 MB that Postgres has made small, no more are read than
 * fit in 256 KB together.
 */
export function withEvaluations({ columns, rows, order }: PageText): PageText {
  const near = thatFit({
    columns: `${columns}, json_bytes, ${listed(SHOWN, 'e_')}`,
    rows: `select ${columns}, json_bytes, ${listed(SHOWN, 'e_')},
         json_bytes + ${STORED_BYTES} as bytes
       from (
         select ${columns}, bytes as json_bytes
         from (
           ${rows}
         ) shown
       ) page
       left join lateral (
         select ${SHOWN.map((name) => `${name} as e_${name}`).join(', ')}
         from evaluation
         where team_id = $1 and training_id = page.id
         limit 1
       ) e on true`,
    order,
  });
  const json = `json_build_object(${SHOWN.map((name) => `'${name}', e_${name}`).join(', ')})`;
  return {
    columns: `${columns}, evaluation`,
    // OFFSET keeps Postgres from making the JSON once for each of its uses.
    rows: `select ${columns}, evaluation,
         case when fits then json_bytes + coalesce(octet_length(evaluation::text), 0)
           else ${PAGE_MAX_BYTES}
         end as bytes
       from (
         select ${columns}, json_bytes, fits,
           case when e_training_id is not null then ${json} end as evaluation
         from (
           ${near}
         ) near
         offset 0
       ) scored`,
    order,
  };
}

/** The evaluation of an active member's training; null if there is none. */
export const findEvaluation = statement<EvaluationRow>(
  'evaluations.find',
  `select ${listed(SHOWN, 'e.')}
   from evaluation e
   where e.team_id = $1
     and e.training_id = $2
     and exists (
       select
       from member m
       where m.team_id = $1 and m.user_id = e.user_id and m.status = 'active'
     )`,
).finds<[db: Db, teamId: string, trainingId: string]>();
