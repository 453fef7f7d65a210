import { alerts } from '../features/alerts/router.ts';
import { adminAnalytics, analytics } from '../features/analytics/router.ts';
import { platformApiKeys } from '../features/api-keys/platform-router.ts';
import { apiKeys } from '../features/api-keys/router.ts';
import { assignments } from '../features/assignments/router.ts';
import { auditLog } from '../features/audit-log/router.ts';
import { platformCases } from '../features/cases/platform-router.ts';
import { cases } from '../features/cases/router.ts';
import { platformCatalog } from '../features/catalog/platform-router.ts';
import { catalog } from '../features/catalog/router.ts';
import { adminCrm } from '../features/crm/connections/router.ts';
import { crm } from '../features/crm/router.ts';
import { platformEvaluations } from '../features/evaluations/platform-router.ts';
import { events } from '../features/events/router.ts';
import { evaluations } from '../features/evaluations/router.ts';
import { adminMembers, invitations } from '../features/members/admin-router.ts';
import { me } from '../features/me/router.ts';
import { platformMembers } from '../features/members/platform-router.ts';
import { members } from '../features/members/router.ts';
import { adminRequests } from '../features/requests/admin-router.ts';
import { requests } from '../features/requests/router.ts';
import { adminSandbox } from '../features/sandbox/admin-router.ts';
import { platformSandbox } from '../features/sandbox/platform-router.ts';
import { sandbox } from '../features/sandbox/router.ts';
import { teamLifecycle } from '../features/team-lifecycle/router.ts';
import { teamSettings } from '../features/team-settings/router.ts';
import { platformTrainings } from '../features/trainings/platform-router.ts';
import { trainings } from '../features/trainings/router.ts';
import { usage } from '../features/usage/router.ts';
import { adminDeliveries } from '../features/webhook-deliveries/admin-router.ts';
import { adminWebhooks } from '../features/webhook-endpoints/admin-router.ts';
import { webhookDeliveries } from '../features/webhook-deliveries/router.ts';
import { webhookEndpoints } from '../features/webhook-endpoints/router.ts';
import { router } from '../trpc/init.ts';

/** The REST API, which the tRPC API serves too. One line per feature. */
export const v1 = router({
  me,
  requests,
  members,
  trainings,
  evaluations,
  assignments,
  cases,
  catalog,
  analytics,
  crm,
  webhooks: { ...webhookEndpoints, ...webhookDeliveries },
  events,
  sandbox,
});

/** For the team's admins in the app. One line per feature. */
export const admin = router({
  apiKeys,
  team: teamSettings,
  members: adminMembers,
  invitations,
  deliveries: adminDeliveries,
  webhooks: adminWebhooks,
  auditLog,
  usage,
  analytics: adminAnalytics,
  requests: adminRequests,
  crm: adminCrm,
  alerts,
  sandbox: adminSandbox,
});

/** For services of the host application. One line per feature. */
export const platform = router({
  teams: { ...teamLifecycle, ...platformSandbox },
  members: platformMembers,
  apiKeys: platformApiKeys,
  trainings: platformTrainings,
  evaluations: platformEvaluations,
  cases: platformCases,
  catalog: platformCatalog,
});

/** Everything that the tRPC API serves. */
export const appRouter = router({ v1, admin, platform });

export type AppRouter = typeof appRouter;
