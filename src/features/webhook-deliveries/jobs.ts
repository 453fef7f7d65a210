/** Removes a batch of the deliveries of a deleted webhook endpoint. */
export const REMOVE_DELIVERIES = 'remove_deliveries';

/** The payload of that job. */
export interface DeletedEndpoint {
  readonly teamId: string;
  readonly endpointId: string;
}

/** The job that removes what a deleted webhook endpoint leaves behind. */
export function removalJob({ teamId, endpointId }: DeletedEndpoint) {
  return {
    task: REMOVE_DELIVERIES,
    payload: { teamId, endpointId },
    key: `${REMOVE_DELIVERIES}:${teamId}:${endpointId}`,
    queue: 'removals',
  };
}
