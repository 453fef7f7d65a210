/** The plans that a team can book. */
export const PLANS = ['starter', 'team', 'enterprise'] as const;

/** Whether the plan includes the API. The plan `starter` does not, nor does an unknown plan. */
export function hasApi(plan: string): boolean {
  return plan === 'team' || plan === 'enterprise';
}
