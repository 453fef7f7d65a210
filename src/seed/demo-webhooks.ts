// What the demo team's webhooks have been through: weeks that went well, a day on which the
// receiver was down, some deliveries that were repeated until they arrived, and an old receiver
// that answers no more.
import { EXAMPLE_IDS } from './demo-team.ts';
import { createRandom, nextInt, pick } from './random.ts';
import type { Ago, Team } from './demo-history.ts';

type Delivery = NonNullable<Team['webhook_deliveries']>[number];

const SEED = 2026;
/** Not one of the streams of generated rows, whose numbers are small. */
const STREAM = 101;
const DELIVERIES = 180;
const DAYS = 28;
/** How many days ago the receiver was down. */
const OUTAGE = { from: 3.2, until: 2.9 } as const;
const WAREHOUSE = 'whe_demo_warehouse';

// No such names can exist, so the demo never calls a stranger.
export const DEMO_ENDPOINTS: NonNullable<Team['webhook_endpoints']> = [
  {
    id: EXAMPLE_IDS.webhookEndpoint,
    url: 'https://learning.hansa-vertrieb.example/hooks',
    events: ['assignment.created', 'evaluation.completed'],
    status: 'disabled',
    description: 'Learning platform',
  },
  {
    id: WAREHOUSE,
    url: 'https://warehouse.hansa-vertrieb.example/training-events',
    events: ['training.completed', 'evaluation.completed'],
    status: 'disabled_failures',
    description: 'Data warehouse',
  },
];

/** The deliveries of the last weeks, the same ones each time. */
export function demoDeliveries(ago: Ago): Delivery[] {
  const learning = Array.from({ length: DELIVERIES }, (_, n): Delivery => {
    const random = createRandom(SEED, STREAM, n);
    const days = ((n + random()) / DELIVERIES) * DAYS;
    const type = pick(random, ['assignment.created', 'evaluation.completed'] as const);
    const isDown = days < OUTAGE.from && days > OUTAGE.until;
    // One that came while the receiver restarted arrives with a repetition.
    const isSlow = random() < 0.06;
    const common = {
      event_type: type,
      created_at: ago(days),
      response_ms: nextInt(random, 28, 90),
    };
    if (isDown)
      return {
        ...common,
        status: 'gave_up',
        attempt: 8,
        response_code: 503,
        response_excerpt: 'Maintenance until Monday',
      };
    if (isSlow)
      return {
        ...common,
        attempt: 3,
        response_code: 204,
        response_ms: nextInt(random, 900, 2_400),
      };
    return { ...common, response_code: 204 };
  });
  const warehouse = Array.from({ length: 40 }, (_, n): Delivery => {
    const random = createRandom(SEED, STREAM + 1, n);
    const days = 4 + n / 2 + random() / 2;
    const common = {
      endpoint_id: WAREHOUSE,
      event_type: pick(random, ['training.completed', 'evaluation.completed'] as const),
      created_at: ago(days),
    } as const;
    return days < 9
      ? { ...common, status: 'gave_up', attempt: 8, error: 'connection_refused' }
      : { ...common, response_code: 200, response_ms: nextInt(random, 140, 600) };
  });
  return [...learning, ...warehouse];
}
