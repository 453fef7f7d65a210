/** What a team has booked. */
export const PLANS = ['starter', 'team', 'enterprise'] as const;

/** Whether the plan includes the API (specification, general rule 4; decisions 31). */
export function hasApi(plan: string): boolean {
  return plan === 'team' || plan === 'enterprise';
}
