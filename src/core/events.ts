/**
 * Every event type, declared once. Redaction, the OpenAPI document, the docs page, the types that
 * receivers get, and the list of events that an endpoint can subscribe to derive from here.
 */
import { z } from 'zod';
import { ROLES, type Actor, type SystemActor } from './actor.ts';
import { isPersonal, personal } from './private-fields.ts';
import { invalidField } from './problem.ts';
import { knownText } from './shapes.ts';
import { ASSIGNMENT_STATUSES, CRM_PROVIDERS } from './vocabularies.ts';
import { withoutValues, type Quote } from './withheld-values.ts';

/** The version of the event format that new webhook endpoints get. Each endpoint keeps its own. */
export const EVENT_API_VERSION = '2026-11';

/** How long an event is kept, and longer while its deliveries wait. */
export const EVENT_KEEP_MS = 30 * 86_400_000;

/** Event data is flat: redaction looks at its top level only. */
type Fields = Readonly<Record<string, z.ZodType<string | number | boolean | null | undefined>>>;

interface EventDeclaration<F extends Fields> {
  /** When the event is raised, as a sentence for the documentation. */
  readonly trigger: string;
  /** False for an event that is only ever sent to one endpoint, without a subscription. */
  readonly subscribable: boolean;
  /** Only actions of these kinds of actors raise the event. */
  readonly raisedBy: readonly Actor['kind'][];
  readonly fields: F;
  /** Examples for fields whose first entry in `examples` does not fit. */
  readonly example?: Partial<z.input<z.ZodObject<F>>>;
}

function event<F extends Fields>({ fields, example, ...declaration }: EventDeclaration<F>) {
  const names = Object.keys(fields);
  const examples = names
    .map((name) => [name, fields[name]?.meta()?.examples?.[0]] as const)
    .filter(([, value]) => value !== undefined);
  return {
    ...declaration,
    /** The shape of `data`. */
    data: z.object({ team_id: teamId, ...fields }),
    /** `data` without `team_id`. */
    example: { ...Object.fromEntries(examples), ...example } as Readonly<Record<string, unknown>>,
    /** The names of the fields that are marked as personal. */
    personal: names.filter((name) => fields[name] && isPersonal(fields[name])),
  };
}

function text(description: string, example: string): z.ZodString {
  return z.string().meta({ description, examples: [example] });
}

function oneOf(values: readonly string[], description: string, example: string): z.ZodString {
  return knownText(values).meta({ description, examples: [example] });
}

function textOrNull(description: string, example: string): z.ZodNullable<z.ZodString> {
  return z
    .string()
    .nullable()
    .meta({ description, examples: [example] });
}

function integerOrNull(description: string, example: number): z.ZodNullable<z.ZodInt> {
  return z
    .int()
    .nullable()
    .meta({ description, examples: [example] });
}

/** Only in the list of events. */
function sentText(description: string): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .optional()
    .meta({ description: `${description} Only in \`GET /events\`.` });
}

const teamId = text('The team, same as `tenant_id`.', 'team_demo');
const userId = personal(
  textOrNull('The person; null while an invitation is not accepted.', 'usr_01jc4f40'),
);
const trainingId = text('The training session.', 'trn_01jc4f6b');

const assignmentFields = {
  assignment_id: text('The assignment.', 'asg_01jc4f5a'),
  status: oneOf(ASSIGNMENT_STATUSES, 'Where the assignment stands.', 'open'),
  title: textOrNull('Title of the assignment; null without one.', 'Practise objections'),
  member_id: text('The membership of the recipient.', 'mem_01jc4f3x'),
  user_id: userId,
  due_date: textOrNull('Calendar date, `YYYY-MM-DD`; null without one.', '2026-12-01'),
  completed_training_id: textOrNull(
    'The training session that completed it; null when none did.',
    'trn_01jc4f6b',
  ),
};

const memberFields = {
  member_id: text('The membership.', 'mem_01jc4f3x'),
  role: oneOf(ROLES, 'What the person may do in the app.', 'member'),
  user_id: userId,
};

const ANY_ACTOR = ['api_key', 'user', 'platform'] as const;

export const EVENTS = {
  'training.completed': event({
    trigger: 'A training session ended.',
    subscribable: true,
    raisedBy: ANY_ACTOR,
    fields: {
      training_id: trainingId,
      user_id: userId,
      assignment_id: textOrNull(
        'The assignment that it was made for; null without one.',
        'asg_01jc4f5a',
      ),
      finished_at: textOrNull('When it ended, ISO 8601 in UTC.', '2026-11-02T09:22:00.000Z'),
      duration_s: integerOrNull('Duration in seconds.', 420),
    },
    example: { assignment_id: null },
  }),
  'evaluation.completed': event({
    trigger: 'An evaluation was saved.',
    subscribable: true,
    raisedBy: ANY_ACTOR,
    fields: {
      training_id: trainingId,
      user_id: userId,
      score: personal(integerOrNull('Total score.', 71)),
    },
  }),
  'assignment.created': event({
    trigger: 'An assignment was created through this API.',
    subscribable: true,
    raisedBy: ['api_key'],
    fields: assignmentFields,
    example: { completed_training_id: null },
  }),
  'assignment.completed': event({
    trigger: 'An assignment was completed through this API.',
    subscribable: true,
    raisedBy: ['api_key'],
    fields: assignmentFields,
    example: { status: 'done' },
  }),
  'member.joined': event({
    trigger:
      'A membership started: with the invitation, if there is one. Accepting it raises no event.',
    subscribable: true,
    raisedBy: ANY_ACTOR,
    fields: memberFields,
    example: { user_id: null },
  }),
  'member.removed': event({
    trigger: 'A membership ended.',
    subscribable: true,
    raisedBy: ANY_ACTOR,
    fields: memberFields,
  }),
  'crm.sync.failed': event({
    trigger: 'A CRM sync attempt failed. Each automatic retry is an attempt, too.',
    subscribable: true,
    raisedBy: ANY_ACTOR,
    fields: {
      connection_id: text('The CRM connection.', 'crm_demo'),
      provider: oneOf(CRM_PROVIDERS, 'The CRM.', 'hubspot'),
      reason: text('Why the attempt failed.', 'unauthorized'),
    },
  }),
  ping: event({
    trigger: 'The test operation of a webhook endpoint was called.',
    subscribable: false,
    raisedBy: ANY_ACTOR,
    fields: {
      endpoint_id: text('The webhook endpoint that is tested.', 'whe_01jc4f9d'),
      sent_as: sentText('The type that the receiver got, if the test is one of another type.'),
      sent_data: sentText('Its `data`, as JSON.'),
    },
  }),
} as const;

export type EventType = keyof typeof EVENTS;

/**
 * An event as services raise it, with its personal fields. `record` in db/outbox.ts adds `team_id`
 * and redacts `data`.
 */
export type NewEvent = {
  [T in EventType]: {
    readonly type: T;
    readonly data: Required<Omit<z.input<(typeof EVENTS)[T]['data']>, 'team_id'>>;
  };
}[EventType];

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

/** The types that a webhook endpoint can subscribe to. */
export const SUBSCRIBABLE_EVENTS = EVENT_TYPES.filter((type) => EVENTS[type].subscribable);

/** The names of all personal fields, each once, for texts about privacy. */
export const PERSONAL_EVENT_FIELDS: readonly string[] = [
  ...new Set(EVENT_TYPES.flatMap((type) => EVENTS[type].personal)),
];

/** Whether this version knows the type. Another version may have stored others. */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENTS, type);
}

/** Throws `validation_error` (that field) for what no event of this version is. */
export function requireEventType(type: string, field: 'type' | 'event_type'): EventType {
  if (isEventType(type)) return type;
  throw invalidField(field, `Not an event type. There are: ${EVENT_TYPES.join(', ')}.`);
}

/** Whether this actor's action raises the event. */
export function isRaisedBy(type: EventType, actor: Actor | SystemActor): boolean {
  return EVENTS[type].raisedBy.some((kind) => kind === actor.kind);
}

/**
 * Returns the data of an event without its personal fields. Of a type that this version does not
 * know nothing is left, because it cannot tell which fields are personal.
 */
export function withholdEventData<T extends object>(type: string, data: T): Partial<T> {
  if (!isEventType(type)) return {};
  const { personal: withheld } = EVENTS[type];
  return Object.fromEntries(
    Object.entries(data).filter(([name]) => !withheld.includes(name)),
  ) as Partial<T>;
}

/**
 * Returns the text without the values of the event's personal fields. One that the end of the text
 * cuts off goes, too.
 */
export function withholdEventValues(type: string, data: object, quote: Quote): string {
  const shown = withholdEventData(type, data);
  const personal = Object.entries(data).filter(([name]) => !Object.hasOwn(shown, name));
  const values = personal.map(([, value]: [string, unknown]) => value);
  return withoutValues(
    values.filter((value) => typeof value === 'string' || typeof value === 'number'),
    quote,
  );
}
