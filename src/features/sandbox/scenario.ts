/**
 * The rows of a sandbox, which a reset writes. Every id is fixed, and every number follows from the
 * place of its row, so two resets at the same time of two days differ only in their times.
 */
import { DIMENSIONS } from '../../core/dimensions.ts';
import { jsonBytes } from '../../core/json.ts';
import { SANDBOX_OWNER, SANDBOX_PEOPLE } from '../../core/sandbox.ts';
import type { ColumnOf, Model } from '../../db/rows.ts';
import type { Scenario } from '../../core/vocabularies.ts';
import { TRAININGS } from './rules.ts';

const DAY_MS = 86_400_000;
/** The trainings lie in so many weeks before the reset. */
const WEEKS = 12;

/** A row without its team: each column, since one that is not named would be null. */
type Row<M extends Model> = Readonly<Record<Exclude<ColumnOf<M>, 'team_id'>, unknown>>;

/** The rows of one reset. `trainings` and `evaluations` are made one by one: there may be many. */
export interface Content {
  readonly entries: readonly Row<'TeamCatalogEntry'>[];
  readonly blocks: readonly Row<'TeamBlock'>[];
  readonly people: readonly Row<'Person'>[];
  readonly members: readonly Row<'Member'>[];
  readonly memberBlocks: readonly Row<'MemberBlock'>[];
  readonly assignments: readonly Row<'Assignment'>[];
  readonly trainings: () => Generator<Row<'Training'>>;
  readonly evaluations: () => Generator<Row<'Evaluation'>>;
  readonly cases: readonly Row<'TrainingCase'>[];
  readonly connections: readonly Row<'CrmConnection'>[];
  readonly deals: readonly Row<'CrmDeal'>[];
  readonly objections: readonly Row<'CrmObjection'>[];
}

const ADMINS = ['amira', 'bruno'];
const TRAINEES = ['clara', 'david', 'elif', 'felix', 'greta', 'hamid', 'ines', 'jonas'];
const LEFT = 'karla';
const INVITED = 'lena';

const { memberOf, userOf, emailOf } = SANDBOX_PEOPLE;

/** The person of a scenario who is invited with this address; null: it is nobody's there. */
export function scenarioPersonOf(email: string | null): string | null {
  return email?.toLowerCase() === emailOf(INVITED) ? userOf(INVITED) : null;
}

/** What the simulated CRM would have filled. */
export type CrmContent = Pick<Content, 'connections' | 'deals' | 'objections'>;

/** The content of a scenario for a reset at this time, with what its CRM connection has read. */
export function contentOf(scenario: Scenario, at: Date, crm: CrmContent): Content {
  const daysAgo = (days: number): string => new Date(at.getTime() - days * DAY_MS).toISOString();
  const dayIn = (days: number): string => daysAgo(-days).slice(0, 10);
  // A rule of the catalog forbids the complaint with the hurried one (`rules.ts`).
  const entries = [
    entry('sit_sandbox_price', 'situation', 'Preisgespräch', 'Price negotiation'),
    entry('sit_sandbox_first_call', 'situation', 'Erstgespräch', 'First call'),
    entry('sit_sandbox_complaint', 'situation', 'Beschwerde', 'Complaint'),
    entry('per_sandbox_sceptic', 'personality', 'Die Skeptikerin', 'The sceptic'),
    entry('per_sandbox_hurried', 'personality', 'Der Eilige', 'The hurried one'),
    entry('ind_sandbox_software', 'industry', 'Software', 'Software'),
    entry('ind_sandbox_machines', 'industry', 'Maschinenbau', 'Machines'),
    entry('rol_sandbox_buyer', 'role', 'Einkauf', 'Buyer'),
    entry('met_sandbox_spin', 'methodology', 'SPIN', 'SPIN'),
  ];
  if (scenario === 'empty') return { ...NOTHING, entries };
  const count = TRAININGS[scenario];
  const training = (index: number) => trainingOf({ index, count, at });
  return {
    entries,
    blocks: [{ entry_id: 'ind_sandbox_machines' }],
    people: [...ADMINS, ...TRAINEES, LEFT].map((name) => ({ id: userOf(name) })),
    members: [
      ...ADMINS.map((name) => member(name, 'admin', daysAgo(120))),
      ...TRAINEES.map((name, index) => member(name, 'member', daysAgo(110 - index))),
      { ...member(LEFT, 'member', daysAgo(115)), status: 'ended', ended_at: daysAgo(9) },
      {
        ...member(INVITED, 'member', daysAgo(2)),
        user_id: null,
        status: 'invited',
        joined_at: null,
        invited_at: daysAgo(2),
        invitation_sent_at: daysAgo(2),
      },
    ],
    memberBlocks: [{ member_id: memberOf('jonas'), entry_id: 'sit_sandbox_complaint' }],
    assignments: [
      assignment('open', 'clara', { created_at: daysAgo(3) }),
      assignment('due_soon', 'david', { created_at: daysAgo(6), due_date: dayIn(3) }),
      assignment('overdue', 'elif', { created_at: daysAgo(30), due_date: dayIn(-10) }),
      assignment('focused', 'felix', { created_at: daysAgo(5), focus_dimension: 'closing' }),
      assignment('done', 'clara', {
        created_at: daysAgo(WEEKS * 7 + 1),
        status: 'done',
        completed_training_id: training(0).id,
        external_ref: { lms_id: 'LMS-4711' },
      }),
      assignment('revoked', LEFT, { created_at: daysAgo(40), status: 'revoked' }),
    ],
    trainings: function* () {
      for (let index = 0; index < count; index += 1) yield training(index);
    },
    evaluations: function* () {
      for (let index = 0; index < count; index += 1) {
        const { id, user_id, status, finished_at } = training(index);
        if (status === 'scored') yield evaluationOf(index, { id, user_id, at: finished_at });
      }
    },
    cases: [
      trainingCase('discount', 'Nachlass von 20 %', daysAgo(20)),
      trainingCase('renewal', 'Verlängerung eines Vertrags', daysAgo(7)),
    ],
    ...crm,
  };
}

const NOTHING: Content = {
  entries: [],
  blocks: [],
  people: [],
  members: [],
  memberBlocks: [],
  assignments: [],
  trainings: function* () {},
  evaluations: function* () {},
  cases: [],
  connections: [],
  deals: [],
  objections: [],
};

function entry(id: string, kind: string, de: string, en: string): Row<'TeamCatalogEntry'> {
  return { id, kind, name_de: de, name_en: en, icon: null };
}

function member(name: string, role: string, since: string): Row<'Member'> {
  return {
    id: memberOf(name),
    user_id: userOf(name),
    email: emailOf(name),
    role,
    status: 'active',
    language: null,
    rights: [],
    joined_at: since,
    created_at: since,
    invited_at: null,
    invitation_sent_at: null,
    ended_at: null,
  };
}

function assignment(
  name: string,
  of: string,
  fields: Partial<Row<'Assignment'>> & { readonly created_at: string },
): Row<'Assignment'> {
  return {
    id: `asg_sandbox_${name}`,
    member_id: memberOf(of),
    status: 'open',
    title: null,
    situation_id: 'sit_sandbox_price',
    personality_id: 'per_sandbox_sceptic',
    industry_id: null,
    note: null,
    due_date: null,
    focus_dimension: null,
    completed_training_id: null,
    external_ref: null,
    updated_at: null,
    ...fields,
  };
}

function trainingCase(name: string, title: string, at: string): Row<'TrainingCase'> {
  const fields = { product: 'Wartungsvertrag' };
  return {
    id: `cas_sandbox_${name}`,
    user_id: SANDBOX_OWNER.userId,
    title,
    persona_id: null,
    fields,
    external_ref: null,
    json_bytes: jsonBytes(fields, null),
    private: false,
    created_at: at,
  };
}

/** One of four trainings in ten is neither scored nor by somebody with a steady hand. */
function trainingOf({ index, count, at }: { index: number; count: number; at: Date }) {
  const digits = String(count).length;
  const status =
    index % 10 === 7
      ? 'completed'
      : index % 15 === 11
        ? 'aborted'
        : index % 30 === 29
          ? 'started'
          : 'scored';
  const age = ((count - index) / count) * WEEKS * 7 * DAY_MS;
  const created = at.getTime() - age;
  const durationS = 240 + ((index * 37) % 420);
  // An aborted one has no end, as in life.
  const isOver = status === 'completed' || status === 'scored';
  return {
    id: `trn_sandbox_${String(index + 1).padStart(digits + 1, '0')}`,
    user_id: userOf(TRAINEES[index % TRAINEES.length] ?? 'clara'),
    status,
    source: index % 4 === 3 ? 'api' : 'app',
    assignment_id: index === 0 ? 'asg_sandbox_done' : null,
    created_at: new Date(created).toISOString(),
    finished_at: isOver ? new Date(created + durationS * 1000).toISOString() : null,
    duration_s: isOver ? durationS : null,
    situation_id: index % 3 === 0 ? 'sit_sandbox_price' : 'sit_sandbox_first_call',
    personality_id: index % 2 === 0 ? 'per_sandbox_sceptic' : 'per_sandbox_hurried',
    industry_id: 'ind_sandbox_software',
    role_id: 'rol_sandbox_buyer',
    external_ref: null,
    json_bytes: null,
  };
}

function evaluationOf(
  index: number,
  { id, user_id, at }: { id: string; user_id: string; at: string | null },
): Row<'Evaluation'> {
  // Each person begins somewhere else and gets better. The team is weak at closing, the first of
  // the dimensions.
  const base = 17 + (index % TRAINEES.length) * 5;
  const scores = DIMENSIONS.map((_, place) =>
    Math.min(98, base + place * 4 + ((index * 7 + place * 11) % 25) + (index % 60) / 3),
  ).map(Math.round);
  return { training_id: id, user_id, saved_at: at, stored_at: at, ...judgementOf(scores) };
}

/** An evaluation with these scores of the dimensions, in their order. */
export function judgementOf(scores: readonly number[]) {
  const total = Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length);
  const best = scores.indexOf(Math.max(...scores));
  const worst = scores.indexOf(Math.min(...scores));
  return {
    total,
    spread: Math.max(...scores) - Math.min(...scores),
    dimensions: Object.fromEntries(DIMENSIONS.map((name, place) => [name, scores[place] ?? total])),
    tips: [
      {
        issue: 'Der Preis kam zu früh.',
        moment: 'In der zweiten Minute',
        principle: 'Erst der Nutzen, dann der Preis.',
        rewrite: 'Was wäre es Ihnen wert, wenn das nicht mehr passiert?',
        impact: 'Das Gespräch dreht sich um den Nutzen.',
      },
    ],
    goal: total >= 75 ? 'reached' : total >= 55 ? 'partial' : 'missed',
    methodology: 'met_sandbox_spin',
    strongest: DIMENSIONS[best] ?? null,
    biggest_lever: DIMENSIONS[worst] ?? null,
  };
}
