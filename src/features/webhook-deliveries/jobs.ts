/** Removes a batch of the deliveries of a deleted webhook endpoint. */
export const REMOVE_DELIVERIES = 'remove_deliveries';

/** Whose deliveries that job removes. */
export interface DeletedEndpoint {
  readonly teamId: string;
  readonly endpointId: string;
}

/** The payload of that job. */
export interface Removal extends DeletedEndpoint {
  /** The last delivery that an earlier run has removed. Without: nothing is removed yet. */
  readonly after?: { readonly at: string; readonly id: string } | undefined;
}

/** The job that removes what a deleted webhook endpoint leaves behind. */
export function removalJob({ teamId, endpointId, after }: Removal) {
  return {
    task: REMOVE_DELIVERIES,
    payload: { teamId, endpointId, after },
    key: `${REMOVE_DELIVERIES}:${teamId}:${endpointId}`,
    queue: 'removals',
  };
}
