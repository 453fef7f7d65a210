import { collectIds, type CatalogIds } from './generate-catalog.ts';
import {
  generatedEmail,
  generatedId,
  generatedStatus,
  type GeneratePlan,
} from './generate-plan.ts';
import type { SeedTeam } from './prepare.ts';
import { createRandom, nextNormal, pick, STREAMS } from './random.ts';
import type { SeedRow } from './seed-rows.ts';
import { FIRST_NAMES, LAST_NAMES } from './vocabulary.ts';

const DAY_MS = 86_400_000;

/** An active member who trains. */
export interface Trainee {
  readonly memberId: string;
  readonly userId: string;
  /** Mean score at the beginning of the period. */
  readonly level: number;
  /** Points gained by the end of the period. */
  readonly growth: number;
  /** Points above or below `level`, for each dimension. */
  readonly strengths: readonly number[];
}

/** The people who train, and the catalog entries that they train with. */
export interface Cast {
  readonly trainees: readonly Trainee[];
  /** Picks by a number from 0 to 1. Some people are picked more often than others. */
  readonly pickTrainee: (fraction: number) => Trainee;
  readonly catalog: CatalogIds;
}

/** One person for each generated member who is not only invited. */
export function* personRows(team: SeedTeam, plan: GeneratePlan): Generator<SeedRow<'Person'>> {
  for (let index = 0; index < plan.members; index += 1) {
    if (generatedStatus(index) !== 'invited')
      yield { team_id: team.id, id: generatedId('usr', index) };
  }
}

/** Every 40th generated member is an admin. */
export function* memberRows(team: SeedTeam, plan: GeneratePlan): Generator<SeedRow<'Member'>> {
  for (let index = 0; index < plan.members; index += 1) {
    const random = createRandom(plan.seed, STREAMS.member, index);
    const status = generatedStatus(index);
    const name = `${pick(random, FIRST_NAMES)}.${pick(random, LAST_NAMES)}`;
    // Members join in the year before the first training, in the order of their ids.
    const created =
      plan.fromMs - 365 * DAY_MS + Math.floor(((index + random()) / plan.members) * 364 * DAY_MS);
    const createdAt = new Date(created).toISOString();
    yield {
      team_id: team.id,
      id: generatedId('mem', index),
      user_id: status === 'invited' ? null : generatedId('usr', index),
      email: generatedEmail(name, index),
      role: index % 40 === 3 ? 'admin' : 'member',
      status,
      rights: [],
      joined_at: status === 'invited' ? null : createdAt,
      created_at: createdAt,
      ended_at: status === 'ended' ? new Date(plan.toMs).toISOString() : null,
    };
  }
}

/** The cast is made of the listed active members and the generated ones. */
export function createCast(
  team: SeedTeam,
  plan: GeneratePlan,
  catalog: Parameters<typeof collectIds>[0],
): Cast {
  const trainees: Trainee[] = [];
  const add = (memberId: string, userId: string): void => {
    trainees.push({ memberId, userId, ...skillOf(plan.seed, trainees.length) });
  };
  for (const member of team.members) {
    if ((member.status ?? 'active') === 'active' && member.user_id) add(member.id, member.user_id);
  }
  for (let index = 0; index < plan.members; index += 1) {
    if (generatedStatus(index) === 'active')
      add(generatedId('mem', index), generatedId('usr', index));
  }
  return {
    trainees,
    pickTrainee: createPicker(trainees, plan.seed),
    catalog: collectIds(catalog, team),
  };
}

function skillOf(seed: number, index: number): Pick<Trainee, 'level' | 'growth' | 'strengths'> {
  const random = createRandom(seed, STREAMS.skill, index);
  const level = 48 + 11 * nextNormal(random);
  const growth = 5 + 25 * random();
  return { level, growth, strengths: Array.from({ length: 5 }, () => 6 * nextNormal(random)) };
}

/** The keenest members train about ten times as much as the least keen. */
function createPicker(trainees: readonly Trainee[], seed: number): (fraction: number) => Trainee {
  const sums: number[] = [];
  let total = 0;
  trainees.forEach((_, index) => {
    const keenness = createRandom(seed, STREAMS.skill, -1 - index)();
    total += 0.2 + 2 * keenness * keenness;
    sums.push(total);
  });
  return (fraction) => {
    const target = fraction * total;
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) > target) high = middle;
      else low = middle + 1;
    }
    const trainee = trainees[low];
    if (!trainee) throw new Error('the team has no active member, although it must have an owner');
    return trainee;
  };
}
