import { z } from 'zod';
import type { Actor } from './actor.ts';

/** The version that new webhook endpoints get (specification, "Versioning" 4). */
export const EVENT_API_VERSION = '2026-11';

const teamId = z.string().meta({ description: 'The team, same as `tenant_id`.' });
const userId = z.string().nullable().optional().meta({ description: 'Only while `member_detail_enabled` is on.' });

const assignmentData = z.object({
  team_id: teamId,
  assignment_id: z.string(),
  status: z.string(),
  title: z.string().nullable(),
  member_id: z.string(),
  user_id: userId,
  due_date: z.string().nullable(),
  completed_training_id: z.string().nullable(),
});

const memberData = z.object({ team_id: teamId, member_id: z.string(), role: z.string(), user_id: userId });

const ANY_ACTOR: readonly Actor['kind'][] = ['api_key', 'user', 'platform'];

/**
 * Every event type: what raises it, the shape of its data (decisions 41), and whose actions raise it. The last is where "assignment events only through
 * the API" lives, and nowhere else.
 */
export const EVENTS = {
  'training.completed': {
    trigger: 'A training session ended.',
    raisedBy: ANY_ACTOR,
    data: z.object({
      team_id: teamId,
      training_id: z.string(),
      user_id: userId,
      assignment_id: z.string().nullable(),
      finished_at: z.string().nullable(),
      duration_s: z.int().nullable(),
    }),
    example: {
      training_id: 'trn_01',
      user_id: 'usr_01',
      assignment_id: null,
      finished_at: '2026-11-02T09:22:00.000Z',
      duration_s: 420,
    },
  },
  'evaluation.completed': {
    trigger: 'An evaluation was saved.',
    raisedBy: ANY_ACTOR,
    data: z.object({
      team_id: teamId,
      training_id: z.string(),
      user_id: userId,
      score: z.int().nullable().optional().meta({ description: 'Only while `member_detail_enabled` is on.' }),
    }),
    example: { training_id: 'trn_01', user_id: 'usr_01', score: 71 },
  },
  'assignment.created': {
    trigger: 'An assignment was created through this API.',
    raisedBy: ['api_key'],
    data: assignmentData,
    example: {
      assignment_id: 'asg_01',
      status: 'open',
      title: 'Practise objections',
      member_id: 'mem_01',
      user_id: 'usr_01',
      due_date: '2026-12-01',
      completed_training_id: null,
    },
  },
  'assignment.completed': {
    trigger: 'An assignment was completed through this API.',
    raisedBy: ['api_key'],
    data: assignmentData,
    example: {
      assignment_id: 'asg_01',
      status: 'done',
      title: 'Practise objections',
      member_id: 'mem_01',
      user_id: 'usr_01',
      due_date: '2026-12-01',
      completed_training_id: 'trn_01',
    },
  },
  'member.joined': {
    trigger: 'A membership started.',
    raisedBy: ANY_ACTOR,
    data: memberData,
    example: { member_id: 'mem_01', role: 'member', user_id: null },
  },
  'member.removed': {
    trigger: 'A membership ended.',
    raisedBy: ANY_ACTOR,
    data: memberData,
    example: { member_id: 'mem_01', role: 'member', user_id: 'usr_01' },
  },
  'crm.sync.failed': {
    trigger: 'A CRM sync attempt failed.',
    raisedBy: ANY_ACTOR,
    data: z.object({ team_id: teamId, connection_id: z.string(), provider: z.string(), reason: z.string() }),
    example: { connection_id: 'crm_01', provider: 'hubspot', reason: 'unauthorized' },
  },
  ping: {
    trigger: 'Only through the test operation; not subscribable.',
    raisedBy: ANY_ACTOR,
    data: z.object({ team_id: teamId, endpoint_id: z.string() }),
    example: { endpoint_id: 'whe_01' },
  },
} as const satisfies Record<
  string,
  { trigger: string; raisedBy: readonly Actor['kind'][]; data: z.ZodObject; example: object }
>;

export type EventType = keyof typeof EVENTS;

/** An event as features raise it; `team_id` is added where it is written. */
export type NewEvent = {
  [T in EventType]: { readonly type: T; readonly data: Omit<z.input<(typeof EVENTS)[T]['data']>, 'team_id'> };
}[EventType];

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];

/** What an endpoint can subscribe to: everything but `ping`. */
export const SUBSCRIBABLE_EVENTS = EVENT_TYPES.filter((type) => type !== 'ping');

/** Whether this actor's action raises the event. */
export function isRaisedBy(type: EventType, actor: Actor): boolean {
  const kinds: readonly Actor['kind'][] = EVENTS[type].raisedBy;
  return kinds.includes(actor.kind);
}
