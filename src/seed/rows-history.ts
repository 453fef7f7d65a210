// Makes the rows of assignments, trainings, evaluations, cases and CRM data.
import { jsonBytes } from '../core/json.ts';
import type { SeedTeam } from './prepare.ts';
import { instant, ownerOf, type RowContext } from './rows.ts';
import type { SeedAssignment, SeedConnection, SeedObjection, SeedRow } from './seed-rows.ts';

type Training = SeedTeam['trainings'][number];

export function assignmentRow(
  { team, now }: RowContext,
  input: SeedTeam['assignments'][number],
): SeedAssignment {
  return {
    team_id: team.id,
    id: input.id,
    member_id: input.member_id ?? ownerOf(team).id,
    status: input.status ?? 'open',
    title: input.title ?? null,
    situation_id: input.situation_id ?? null,
    personality_id: input.personality_id ?? null,
    industry_id: input.industry_id ?? null,
    note: input.note ?? null,
    due_date: input.due_date ?? null,
    focus_dimension: input.focus_dimension ?? null,
    completed_training_id: input.completed_training_id ?? null,
    created_at: instant(input.created_at) ?? now,
    external_ref: input.external_ref ?? null,
  };
}

export function trainingRow({ team, now }: RowContext, input: Training): SeedRow<'Training'> {
  return {
    team_id: team.id,
    id: input.id,
    user_id: input.user_id,
    status: input.status,
    source: input.source ?? 'app',
    assignment_id: input.assignment_id ?? null,
    created_at: instant(input.created_at) ?? now,
    finished_at: instant(input.finished_at),
    duration_s: input.duration_s ?? null,
    external_ref: input.external_ref ?? null,
    json_bytes: input.external_ref ? jsonBytes(input.external_ref) : null,
    situation_id: input.situation_id ?? null,
    personality_id: input.personality_id ?? null,
    industry_id: input.industry_id ?? null,
    role_id: input.role_id ?? null,
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
    team_id: team.id,
    id: input.id,
    user_id: input.user_id ?? ownerOf(team).user_id,
    title: input.title ?? null,
    persona_id: input.persona_id ?? null,
    fields: input.fields ?? null,
    external_ref: input.external_ref ?? null,
    json_bytes: jsonBytes(input.fields, input.external_ref),
    private: input.private ?? false,
    created_at: instant(input.created_at) ?? now,
  };
}

export function connectionRow(
  { team, now }: RowContext,
  input: SeedTeam['crm_connections'][number],
): SeedConnection {
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
    team_id: team.id,
    id: input.id,
    connection_id: input.connection_id ?? team.crm_connections[0]?.id,
    external_id: input.external_id ?? input.id,
    outcome: input.outcome ?? 'open',
    title: input.title ?? null,
    amount: input.amount ?? null,
    currency: input.currency ?? null,
    close_date: input.close_date ?? null,
    probability: input.probability ?? null,
    pipeline_id: input.pipeline_id ?? null,
    stage_id: input.stage_id ?? null,
    industry_id: input.industry_id ?? null,
    lost_reason: input.lost_reason ?? null,
    owner_user_id: input.owner_user_id ?? null,
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
): SeedObjection {
  const dealId = input.deal_id ?? team.crm_deals[0]?.id;
  return {
    team_id: team.id,
    id: input.id,
    deal_id: dealId,
    connection_id: connectionOf.get(dealId),
    category: input.category ?? 'other',
    text: input.text ?? '',
    lang: input.lang ?? team.language ?? 'de',
    created_at: instant(input.created_at) ?? now,
  };
}
