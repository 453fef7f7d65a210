/**
 * The words of the data: what the document names as known values, what the service and the host
 * application store, and what generated teams hold. Where the set is open, the host application or
 * a later version may bring other words.
 */

export const TEAM_STATUSES = ['active', 'suspended', 'ended'] as const;
export type TeamStatus = (typeof TEAM_STATUSES)[number];

/** What a sandbox begins with, and is brought back to. */
export const SCENARIOS = ['empty', 'typical', 'large'] as const;
export type Scenario = (typeof SCENARIOS)[number];

export const ASSIGNMENT_STATUSES = ['open', 'done', 'revoked'] as const;
export type AssignmentStatus = (typeof ASSIGNMENT_STATUSES)[number];

/** How far a training has come, lowest first. An open set. */
export const TRAINING_STATUSES = ['started', 'aborted', 'completed', 'scored'] as const;
export type TrainingStatus = (typeof TRAINING_STATUSES)[number];

/** Where a training was held. An open set. */
export const TRAINING_SOURCES = ['app', 'api'] as const;
export type TrainingSource = (typeof TRAINING_SOURCES)[number];

/** How far the goal of a training was reached, best first. An open set. */
export const GOALS = ['reached', 'partial', 'missed'] as const;
export type Goal = (typeof GOALS)[number];

/** The CRMs that can be connected. */
export const CRM_PROVIDERS = ['hubspot', 'pipedrive'] as const;
export type CrmProvider = (typeof CRM_PROVIDERS)[number];

export const DEAL_OUTCOMES = ['open', 'won', 'lost'] as const;
export type DealOutcome = (typeof DEAL_OUTCOMES)[number];

/** What an objection is about; the service guesses it. */
export const OBJECTION_CATEGORIES = [
  'budget',
  'price',
  'competitor',
  'timing',
  'authority',
  'product',
  'trust',
  'need',
  'other',
] as const;
export type ObjectionCategory = (typeof OBJECTION_CATEGORIES)[number];
