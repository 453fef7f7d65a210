import type { EventType } from '../../core/events.ts';

/** Every event that an endpoint can get, in the order of the documentation. */
const ALL: Readonly<Record<Exclude<EventType, 'ping'>, true>> = {
  'training.completed': true,
  'evaluation.completed': true,
  'assignment.created': true,
  'assignment.completed': true,
  'member.joined': true,
  'member.removed': true,
  'crm.sync.failed': true,
};

export const SUBSCRIBABLE_EVENTS: readonly string[] = Object.keys(ALL);
