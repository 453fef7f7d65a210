// Generates assignments, trainings and evaluations. A training's first random numbers choose its
// person and status. So an assignment can find out who fulfils it, and whether, without generating
// the whole training.
import { DIMENSIONS } from '../core/dimensions.ts';
import type { TrainingStatus } from '../core/vocabularies.ts';
import type { Cast, Trainee } from './generate-people.ts';
import { generatedId, type GeneratePlan } from './generate-plan.ts';
import {
  createRandom,
  nextInt,
  nextNormal,
  pick,
  pickOrNull,
  STREAMS,
  type Random,
} from './random.ts';
import type { SeedRow } from './seed-rows.ts';
import { createTimeline } from './timeline.ts';
import { GENERATED_GOALS, GENERATED_SOURCES, VOCABULARY } from './vocabulary.ts';

const DAY_MS = 86_400_000;

/** What the generators of one team share. */
export interface Scene {
  readonly teamId: string;
  readonly language: 'de' | 'en';
  readonly plan: GeneratePlan;
  readonly cast: Cast;
}

/**
 * Returns the number of the training that was done for this assignment, or null. The result rises
 * with the assignment's number.
 */
function trainingFor({ plan }: Scene, assignment: number): number | null {
  if (plan.trainings === 0) return null;
  const step = Math.ceil(plan.assignments / plan.trainings);
  if (
    assignment % step !== 0 ||
    createRandom(plan.seed, STREAMS.assignment, -1 - assignment)() > 0.6
  )
    return null;
  // The training takes place just after the assignment was created.
  const training = Math.ceil(((assignment + 1) / plan.assignments) * plan.trainings);
  return training < plan.trainings ? training : null;
}

interface Start {
  readonly trainee: Trainee;
  readonly status: TrainingStatus;
  readonly random: Random;
}

function startOf({ plan, cast }: Scene, index: number): Start {
  const random = createRandom(plan.seed, STREAMS.training, index);
  const trainee = cast.pickTrainee(random());
  const chance = random();
  const status =
    chance < 0.85 ? 'scored' : chance < 0.92 ? 'completed' : chance < 0.97 ? 'aborted' : 'started';
  return { trainee, status, random };
}

/** An assignment whose training was scored is `done`. */
export function* assignmentRows(scene: Scene): Generator<SeedRow<'Assignment'>> {
  const { plan, cast } = scene;
  const timeline = createTimeline(plan.fromMs, plan.toMs);
  for (let index = 0; index < plan.assignments; index += 1) {
    const random = createRandom(plan.seed, STREAMS.assignment, index);
    const created = timeline((index + random()) / plan.assignments);
    const training = trainingFor(scene, index);
    const done = training === null ? null : startOf(scene, training);
    const isDone = done?.status === 'scored';
    yield {
      team_id: scene.teamId,
      id: generatedId('asg', index),
      member_id: (done?.trainee ?? cast.pickTrainee(random())).memberId,
      status: isDone ? 'done' : random() < 0.15 ? 'revoked' : 'open',
      title: pick(random, VOCABULARY[scene.language].titles),
      situation_id: pickOrNull(random, cast.catalog.situation),
      personality_id: pickOrNull(random, cast.catalog.personality),
      industry_id: pickOrNull(random, cast.catalog.industry),
      note: null,
      due_date: new Date(created + nextInt(random, 3, 30) * DAY_MS).toISOString().slice(0, 10),
      focus_dimension: pick(random, DIMENSIONS),
      completed_training_id: isDone && training !== null ? generatedId('trn', training) : null,
      created_at: new Date(created).toISOString(),
      external_ref: null,
    };
  }
}

/** Yields each training with its evaluation, or with null if it was not scored. */
export function* trainingRows(scene: Scene): Generator<{
  training: SeedRow<'Training'>;
  evaluation: SeedRow<'Evaluation'> | null;
}> {
  const { plan } = scene;
  const timeline = createTimeline(plan.fromMs, plan.toMs);
  const fulfilled = fulfilments(scene);
  let next = fulfilled.next();
  for (let index = 0; index < plan.trainings; index += 1) {
    let assignmentId: string | null = null;
    if (!next.done && next.value.training === index) {
      assignmentId = generatedId('asg', next.value.assignment);
      next = fulfilled.next();
    }
    const start = startOf(scene, index);
    const fraction = (index + start.random()) / plan.trainings;
    const created = timeline(fraction);
    const durationS = nextInt(start.random, 120, 1500);
    yield {
      training: trainingRow(scene, { index, start, created, durationS, assignmentId }),
      evaluation:
        start.status === 'scored'
          ? evaluationRow(scene, { index, start, fraction, at: created + durationS * 1000 })
          : null,
    };
  }
}

function* fulfilments(scene: Scene): Generator<{ assignment: number; training: number }> {
  for (let assignment = 0; assignment < scene.plan.assignments; assignment += 1) {
    const training = trainingFor(scene, assignment);
    if (training !== null) yield { assignment, training };
  }
}

function trainingRow(
  scene: Scene,
  at: {
    index: number;
    start: Start;
    created: number;
    durationS: number;
    assignmentId: string | null;
  },
): SeedRow<'Training'> {
  const { start, created, durationS } = at;
  const { catalog } = scene.cast;
  const isOver = start.status === 'completed' || start.status === 'scored';
  return {
    team_id: scene.teamId,
    id: generatedId('trn', at.index),
    user_id: start.trainee.userId,
    status: start.status,
    source: pick(start.random, GENERATED_SOURCES),
    assignment_id: at.assignmentId,
    created_at: new Date(created).toISOString(),
    finished_at: isOver ? new Date(created + durationS * 1000).toISOString() : null,
    duration_s: isOver ? durationS : null,
    external_ref: null,
    json_bytes: null,
    situation_id: pickOrNull(start.random, catalog.situation),
    personality_id: pickOrNull(start.random, catalog.personality),
    industry_id: pickOrNull(start.random, catalog.industry),
    role_id: pickOrNull(start.random, catalog.role),
  };
}

function evaluationRow(
  scene: Scene,
  at: { index: number; start: Start; fraction: number; at: number },
): SeedRow<'Evaluation'> {
  const { trainee, random } = at.start;
  const level = trainee.level + trainee.growth * at.fraction + 5 * nextNormal(random);
  const scores = DIMENSIONS.map((_, index) =>
    clamp(level + (trainee.strengths[index] ?? 0) + 4 * nextNormal(random)),
  );
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance =
    scores.reduce((sum, score) => sum + (score - mean) * (score - mean), 0) / scores.length;
  const best = DIMENSIONS[scores.indexOf(Math.max(...scores))];
  const worst = DIMENSIONS[scores.indexOf(Math.min(...scores))];
  const savedAt = new Date(at.at + nextInt(random, 5, 90) * 1000).toISOString();
  return {
    team_id: scene.teamId,
    training_id: generatedId('trn', at.index),
    user_id: trainee.userId,
    saved_at: savedAt,
    stored_at: savedAt,
    total: Math.round(mean),
    spread: Math.round(Math.sqrt(variance) * 10) / 10,
    dimensions: Object.fromEntries(DIMENSIONS.map((name, index) => [name, scores[index]])),
    tips: pickTips(scene, random, mean),
    goal: pick(random, GENERATED_GOALS),
    methodology: pickOrNull(random, scene.cast.catalog.methodology),
    strongest: best,
    biggest_lever: worst,
  };
}

/**
 * Weaker results get more tips. The tips of one evaluation differ, because they are neighbours in
 * the pool.
 */
function pickTips(scene: Scene, random: Random, mean: number): unknown[] {
  const pool = VOCABULARY[scene.language].tips;
  const count = Math.min(5, Math.floor(random() * (mean < 60 ? 4 : 3)) + (random() < 0.05 ? 2 : 0));
  const first = nextInt(random, 0, pool.length - 1);
  return Array.from({ length: count }, (_, index) => pool[(first + index) % pool.length]);
}

function clamp(value: number): number {
  return Math.max(0, Math.min(100, Math.round(value)));
}
