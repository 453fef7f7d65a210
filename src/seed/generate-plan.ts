// Reads and checks what `generate` asks for, and names the generated rows.
import type { Faults, PathPart } from './fault.ts';
import { LISTS_WITH_IDS, type SeedTeam } from './prepare.ts';

/** Fixed dates, because the same file must make the same rows on any day. */
const DEFAULT_FROM = '2025-01-01';
const DEFAULT_TO = '2026-11-01';
/**
 * The first and the last day on which rows may lie. Members join up to a year before the first
 * training, and deals close some months after the last one. Beyond, dates have another form.
 */
const FIRST_DAY = '0002-01-01';
const LAST_DAY = '9998-12-31';
const EMAIL_DOMAIN = '@generated.example';
const RESERVED_ID = 'ids of this form are reserved for generated rows';

/** How many rows to generate of each kind, and the period that they lie in. */
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

/** Returns null for a team without `generate`. */
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

/** The id of the generated row number `index`, for instance `trn_gen_0000001` for row 0. */
export function generatedId(prefix: string, index: number): string {
  return `${prefix}_gen_${String(index + 1).padStart(7, '0')}`;
}

/** Unique by the row's number, even if two members have the same name. */
export function generatedEmail(name: string, index: number): string {
  return `${name}.${index + 1}${EMAIL_DOMAIN}`;
}

/** The status of generated member `index`: 2 of 100 have ended, 1 of 100 is invited. */
export function generatedStatus(index: number): 'active' | 'invited' | 'ended' {
  if (index % 50 === 49) return 'ended';
  return index % 100 === 37 ? 'invited' : 'active';
}

/** Refuses listed rows whose id or email could collide with those of generated rows. */
export function checkGenerate(faults: Faults, path: readonly PathPart[], team: SeedTeam): void {
  const plan = planOf(team);
  if (!plan) return;
  const of = (field: string) => [...path, 'generate', field];
  if (plan.toMs <= plan.fromMs) faults.add(of('to'), 'must be after "from"');
  if (plan.fromMs < Date.parse(FIRST_DAY))
    faults.add(of('from'), `must not be before ${FIRST_DAY}`);
  if (plan.toMs > Date.parse(LAST_DAY)) faults.add(of('to'), `must not be after ${LAST_DAY}`);
  const reserved = (value: string | null | undefined) =>
    typeof value === 'string' && /^[a-z]+_gen_\d+$/.test(value);
  for (const [list] of LISTS_WITH_IDS) {
    // Webhook endpoints are never generated.
    if (list === 'webhook_endpoints' || list === 'webhook_deliveries') continue;
    team[list].forEach((row, index) => {
      if (reserved(row.id)) faults.add([...path, list, index, 'id'], RESERVED_ID);
    });
  }
  team.members.forEach((member, index) => {
    const at = [...path, 'members', index];
    if (reserved(member.user_id)) faults.add([...at, 'user_id'], RESERVED_ID);
    if (!member.email.toLowerCase().endsWith(EMAIL_DOMAIN)) return;
    faults.add([...at, 'email'], `emails at ${EMAIL_DOMAIN} are reserved for generated members`);
  });
  team.crm_deals.forEach((deal, index) => {
    if (!reserved(deal.external_id)) return;
    faults.add([...path, 'crm_deals', index, 'external_id'], RESERVED_ID);
  });
}
