import { analytics } from '../features/analytics/router.ts';
import { apiKeys } from '../features/api-keys/router.ts';
import { assignments } from '../features/assignments/router.ts';
import { cases } from '../features/cases/router.ts';
import { catalog } from '../features/catalog/router.ts';
import { crm } from '../features/crm/router.ts';
import { evaluations } from '../features/evaluations/router.ts';
import { me } from '../features/me/router.ts';
import { members } from '../features/members/router.ts';
import { team } from '../features/team/router.ts';
import { trainings } from '../features/trainings/router.ts';
import { webhooks } from '../features/webhooks/router.ts';
import { router } from './init.ts';

/** What the REST API consists of: one line a feature. */
export const v1 = router({
  me,
  members,
  trainings,
  evaluations,
  assignments,
  cases,
  catalog,
  analytics,
  crm,
  webhooks,
});

/** For the team's admins, in the app: one line a feature. */
export const admin = router({
  apiKeys,
  team,
});

/** For services of the host application: one line a feature. */
export const platform = router({});

/** What the app's door serves. */
export const appRouter = router({ v1, admin, platform });

export type AppRouter = typeof appRouter;
