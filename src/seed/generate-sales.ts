// Generates cases, CRM deals and their objections.
import { jsonBytes } from '../core/json.ts';
import type { DealOutcome } from '../core/vocabularies.ts';
import { generatedId } from './generate-plan.ts';
import type { Scene } from './generate-trainings.ts';
import { createRandom, nextInt, pick, pickOrNull, STREAMS, type Random } from './random.ts';
import type { SeedRow } from './seed-rows.ts';
import { createTimeline } from './timeline.ts';
import { GENERATED_CATEGORIES, STAGES, VOCABULARY } from './vocabulary.ts';

const DAY_MS = 86_400_000;

/** One case in ten is private. */
export function* caseRows({
  teamId,
  language,
  plan,
  cast,
}: Scene): Generator<SeedRow<'TrainingCase'>> {
  const words = VOCABULARY[language];
  const timeline = createTimeline(plan.fromMs, plan.toMs);
  for (let index = 0; index < plan.cases; index += 1) {
    const random = createRandom(plan.seed, STREAMS.case, index);
    const userId = cast.pickTrainee(random()).userId;
    const title = pick(random, words.caseTitles);
    const fields = { company: pick(random, words.companies), seats: nextInt(random, 5, 500) };
    const externalRef = random() < 0.3 ? { lms: nextInt(random, 1, 9999) } : null;
    yield {
      team_id: teamId,
      id: generatedId('cas', index),
      user_id: userId,
      title,
      persona_id: null,
      fields,
      external_ref: externalRef,
      json_bytes: jsonBytes(fields, externalRef),
      private: random() < 0.1,
      created_at: new Date(timeline((index + random()) / plan.cases)).toISOString(),
    };
  }
}

/** Yields each deal with its objections: none, one or two. */
export function* dealRows(
  scene: Scene,
  connectionId: string,
): Generator<{ deal: SeedRow<'CrmDeal'>; objections: SeedRow<'CrmObjection'>[] }> {
  const { teamId, language, plan } = scene;
  const timeline = createTimeline(plan.fromMs, plan.toMs);
  let objectionCount = 0;
  for (let index = 0; index < plan.deals; index += 1) {
    const random = createRandom(plan.seed, STREAMS.deal, index);
    const syncedMs = timeline((index + random()) / plan.deals);
    const deal = dealRow(scene, random, { index, connectionId, syncedMs });
    const objections = Array.from({ length: nextInt(random, 0, 2) }, () => ({
      team_id: teamId,
      id: generatedId('obj', objectionCount++),
      deal_id: deal.id,
      connection_id: connectionId,
      category: pick(random, GENERATED_CATEGORIES),
      text: pick(random, VOCABULARY[language].objections),
      lang: language,
      created_at: deal.created_at,
    }));
    yield { deal, objections };
  }
}

function dealRow(
  { teamId, language, cast }: Scene,
  random: Random,
  deal: { readonly index: number; readonly connectionId: string; readonly syncedMs: number },
): SeedRow<'CrmDeal'> & { readonly id: string; readonly created_at: string } {
  const { index, connectionId, syncedMs } = deal;
  const words = VOCABULARY[language];
  const outcome = pick(random, [
    'open',
    'open',
    'won',
    'lost',
  ] as const satisfies readonly DealOutcome[]);
  const createdAt = new Date(syncedMs).toISOString();
  return {
    team_id: teamId,
    id: generatedId('deal', index),
    connection_id: connectionId,
    external_id: generatedId('ext', index),
    outcome,
    title: `${pick(random, words.companies)}: ${pick(random, words.dealTitles)}`,
    amount: `${nextInt(random, 10, 2000) * 100}.00`,
    currency: language === 'de' ? 'EUR' : 'GBP',
    close_date: new Date(syncedMs + nextInt(random, 7, 120) * DAY_MS).toISOString().slice(0, 10),
    probability: outcome === 'won' ? 100 : outcome === 'lost' ? 0 : nextInt(random, 1, 9) * 10,
    pipeline_id: 'default',
    stage_id: pick(random, STAGES),
    industry_id: pickOrNull(random, cast.catalog.industry),
    lost_reason: outcome === 'lost' ? pick(random, words.lostReasons) : null,
    owner_user_id: cast.pickTrainee(random()).userId,
    last_activity_at: new Date(syncedMs - nextInt(random, 0, 14 * 24) * 3_600_000).toISOString(),
    synced_at: createdAt,
    created_at: createdAt,
  };
}
