import { sandboxIdOf } from '../core/sandbox.ts';

/** The id of the demo team, which `npm start` loads into an empty database. */
export const DEMO_TEAM_ID = 'team_demo';
export const DEMO_SANDBOX_ID = sandboxIdOf(DEMO_TEAM_ID);

/**
 * The ids in the examples of the API's documentation. The demo team has them, so that an example
 * can be pasted as it is. test/features/examples.test.ts calls every operation with its example.
 */
export const EXAMPLE_IDS = {
  member: 'mem_01jc4f3x',
  user: 'usr_01jc4f40',
  assignment: 'asg_01jc4f5a',
  training: 'trn_01jc4f6b',
  case: 'cas_01jc4f7b',
  deal: 'deal_01jc4f7c',
  objection: 'obj_01jc4f8d',
  webhookEndpoint: 'whe_01jc4f9d',
  webhookDelivery: 'whd_01jc4fa7',
} as const;
