/** The plans that a team can book. */
export const PLANS = ['starter', 'team', 'enterprise'] as const;

/** Those that include the API. */
export const API_PLANS = [
  'team',
  'enterprise',
] as const satisfies readonly (typeof PLANS)[number][];

/** Whether the plan includes the API. The plan `starter` does not, nor does an unknown plan. */
export function hasApi(plan: string): boolean {
  return API_PLANS.some((one) => one === plan);
}
