// What `generate` asks for, checked; and the names that its rows get.
import type { Faults, PathPart } from './fault.ts';
import type { SeedTeam } from './prepare.ts';

/** Fixed, not relative to today: the same file must make the same rows on any day. */
const DEFAULT_FROM = '2025-01-01';
const DEFAULT_TO = '2026-11-01';
const EMAIL_DOMAIN = '@generated.example';

export interface GeneratePlan {
  readonly members: number;
  readonly trainings: number;
  readonly assignments: number;
  readonly cases: number;
  readonly deals: number;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly seed: number;
}

export function planOf(team: SeedTeam): GeneratePlan | null {
  const { generate } = team;
  if (!generate) return null;
  return {
    members: generate.members ?? 0,
    trainings: generate.trainings ?? 0,
    assignments: generate.assignments ?? 0,
    cases: generate.cases ?? 0,
    deals: generate.crm_deals ?? 0,
    fromMs: Date.parse(generate.from ?? DEFAULT_FROM),
    toMs: Date.parse(generate.to ?? DEFAULT_TO),
    seed: generate.random_seed ?? 1,
  };
}

export function generatedId(prefix: string, index: number): string {
  return `${prefix}_gen_${String(index + 1).padStart(7, '0')}`;
}

export function generatedEmail(name: string, index: number): string {
  return `${name}.${index + 1}${EMAIL_DOMAIN}`;
}

/** By the row's number: a few have left, fewer have not come yet. */
export function generatedStatus(index: number): 'active' | 'invited' | 'ended' {
  if (index % 50 === 49) return 'ended';
  return index % 100 === 37 ? 'invited' : 'active';
}

const LISTS = [
  'members',
  'trainings',
  'assignments',
  'cases',
  'crm_connections',
  'crm_deals',
  'crm_objections',
] as const;

/** A listed row must not stand where a generated one will. */
export function checkGenerate(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const plan = planOf(team);
  if (!plan) return;
  if (plan.toMs <= plan.fromMs) faults.add([...path, 'generate', 'to'], 'must be after "from"');
  const reserved = (value: string | null | undefined) =>
    typeof value === 'string' && /^[a-z]+_gen_\d+$/.test(value);
  for (const list of LISTS) {
    team[list].forEach((row, index) => {
      if (reserved(row.id))
        faults.add([...path, list, index, 'id'], 'ids of this form are kept for generated rows');
    });
  }
  team.members.forEach((member, index) => {
    const at = [...path, 'members', index];
    if (reserved(member.user_id))
      faults.add([...at, 'user_id'], 'ids of this form are kept for generated rows');
    if (!member.email.toLowerCase().endsWith(EMAIL_DOMAIN)) return;
    faults.add([...at, 'email'], `emails of ${EMAIL_DOMAIN} are kept for generated members`);
  });
  team.crm_deals.forEach((deal, index) => {
    if (!reserved(deal.external_id)) return;
    faults.add(
      [...path, 'crm_deals', index, 'external_id'],
      'ids of this form are kept for generated rows',
    );
  });
}
