import type { Mode } from './sandbox.ts';

/** Every scope that an API key can have, and what it allows. The documentation keeps this order. */
export const SCOPE_DESCRIPTIONS = {
  'users:read': 'Read members.',
  'users:write': 'Invite members, change their role and remove them.',
  'trainings:read': 'Read training metadata.',
  'evaluations:read': 'Read evaluations: score, dimensions and tips, no transcript.',
  'assignments:read': 'Read assignments.',
  'assignments:write': 'Create, update and delete assignments.',
  'cases:read': 'Read team cases, CRM deals and objections.',
  'cases:write': 'Create, update and delete team cases.',
  'catalog:read': "Read the catalog within the team's effective policy.",
  'analytics:read': 'Read aggregated team analytics.',
  'webhooks:manage': 'Manage webhook endpoints, send tests, retry and list deliveries.',
  'sandbox:write': 'Play events in the sandbox and reset it. Only test keys can have it.',
} as const;

export type Scope = keyof typeof SCOPE_DESCRIPTIONS;

/** The scopes that a test key can have. */
export const TEST_SCOPES = Object.keys(SCOPE_DESCRIPTIONS) as readonly Scope[];

/** The scopes that a live key can have. */
export const SCOPES: readonly Scope[] = TEST_SCOPES.filter((scope) => scope !== 'sandbox:write');

/** The scopes that keys of this mode can have. */
export function scopesOf(mode: Mode): readonly Scope[] {
  return mode === 'test' ? TEST_SCOPES : SCOPES;
}
