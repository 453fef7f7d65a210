// Makes the rows of assignments, trainings, evaluations, cases and CRM data.
import { jsonBytes } from '../core/json.ts';
import { orNull } from '../core/shapes.ts';
import type { SeedTeam } from './prepare.ts';
import { instant, ownerOf, type RowContext } from './rows.ts';
import { assignment, crmDeal, crmObjection, training, trainingCase } from './schema.ts';
import type { SeedRow } from './seed-rows.ts';

type Training = SeedTeam['trainings'][number];

export function assignmentRow(
  { team, now }: RowContext,
  input: SeedTeam['assignments'][number],
): SeedRow<'Assignment'> {
  return {
    ...orNull(assignment, input),
    team_id: team.id,
    member_id: input.member_id ?? ownerOf(team).id,
    created_at: instant(input.created_at) ?? now,
  };
}

export function trainingRow({ team, now }: RowContext, input: Training): SeedRow<'Training'> {
  const { evaluation: _row, ...described } = orNull(training, input);
  return {
    ...described,
    team_id: team.id,
    created_at: instant(input.created_at) ?? now,
    finished_at: instant(input.finished_at),
    json_bytes: input.external_ref ? jsonBytes(input.external_ref) : null,
  };
}

export function* evaluationRows({ team, now }: RowContext): Generator<SeedRow<'Evaluation'>> {
  for (const training of team.trainings) {
    const { evaluation } = training;
    if (!evaluation) continue;
    const savedAt =
      instant(evaluation.saved_at ?? training.finished_at ?? training.created_at) ?? now;
    yield {
      team_id: team.id,
      training_id: training.id,
      user_id: training.user_id,
      saved_at: savedAt,
      // As if it had arrived at once.
      stored_at: savedAt,
      total: evaluation.score?.total ?? null,
      spread: evaluation.score?.spread ?? null,
      dimensions: evaluation.score?.dimensions ?? {},
      // The API always returns all five texts.
      tips: (evaluation.tips ?? []).map((tip) => ({
        issue: '',
        moment: '',
        principle: '',
        rewrite: '',
        impact: '',
        ...tip,
      })),
      goal: evaluation.goal ?? null,
      methodology: evaluation.methodology ?? null,
      strongest: evaluation.strongest ?? null,
      biggest_lever: evaluation.biggest_lever ?? null,
    };
  }
}

export function caseRow(
  { team, now }: RowContext,
  input: SeedTeam['cases'][number],
): SeedRow<'TrainingCase'> {
  return {
    ...orNull(trainingCase, input),
    team_id: team.id,
    user_id: input.user_id ?? ownerOf(team).user_id,
    json_bytes: jsonBytes(input.fields, input.external_ref),
    created_at: instant(input.created_at) ?? now,
  };
}

export function connectionRow(
  { team, now }: RowContext,
  input: SeedTeam['crm_connections'][number],
): SeedRow<'CrmConnection'> {
  const { id, provider, status } = input;
  return {
    team_id: team.id,
    id,
    provider: provider ?? 'hubspot',
    status: status ?? 'active',
    created_at: now,
  };
}

export function dealRow(
  { team, now }: RowContext,
  input: SeedTeam['crm_deals'][number],
): SeedRow<'CrmDeal'> {
  return {
    ...orNull(crmDeal, input),
    team_id: team.id,
    connection_id: input.connection_id ?? team.crm_connections[0]?.id,
    external_id: input.external_id ?? input.id,
    last_activity_at: instant(input.last_activity_at),
    synced_at: instant(input.synced_at),
    created_at: instant(input.synced_at ?? input.last_activity_at) ?? now,
  };
}

/** `connectionOf`: deal id → connection id. */
export function objectionRow(
  { team, now }: RowContext,
  input: SeedTeam['crm_objections'][number],
  connectionOf: ReadonlyMap<unknown, unknown>,
): SeedRow<'CrmObjection'> {
  const dealId = input.deal_id ?? team.crm_deals[0]?.id;
  return {
    ...orNull(crmObjection, input),
    team_id: team.id,
    deal_id: dealId,
    connection_id: connectionOf.get(dealId),
    lang: input.lang ?? team.language ?? 'de',
    created_at: instant(input.created_at) ?? now,
  };
}
