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
} as const;

export type Scope = keyof typeof SCOPE_DESCRIPTIONS;

export const SCOPES = Object.keys(SCOPE_DESCRIPTIONS) as readonly Scope[];
