/** The addresses of the page. Each page is loaded when it is first opened. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { Frame } from './frame.tsx';
import { lazyPage } from './lib/lazy.tsx';
import { BASE_PATH } from './lib/mode.ts';
import {
  readAuditSearch,
  readDeliverySearch,
  readMemberSearch,
  readRequestSearch,
  readUsageSearch,
} from './lib/search.ts';
import { Failed, NotFound } from './ui/not-found.tsx';

const rootRoute = createRootRoute({ component: Frame });

const keys = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): { ended?: true | undefined } =>
    search['ended'] === true ? { ended: true } : {},
  component: lazyPage(() => import('./pages/keys.tsx'), 'KeysPage'),
});

const newKey = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys/new',
  component: lazyPage(() => import('./pages/new-key.tsx'), 'NewKeyPage'),
});

const webhooks = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks',
  component: lazyPage(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
});

const newWebhook = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks/new',
  component: lazyPage(() => import('./pages/new-webhook.tsx'), 'NewWebhookPage'),
});

const webhook = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks/$endpointId',
  component: lazyPage(() => import('./pages/webhook.tsx'), 'WebhookPage'),
});

const deliveries = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries',
  validateSearch: readDeliverySearch,
  component: lazyPage(() => import('./pages/deliveries.tsx'), 'DeliveriesPage'),
});

const delivery = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries/$deliveryId',
  component: lazyPage(() => import('./pages/delivery.tsx'), 'DeliveryPage'),
});

const requests = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests',
  validateSearch: readRequestSearch,
  component: lazyPage(() => import('./pages/requests.tsx'), 'RequestsPage'),
});

const request = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests/$requestId',
  component: lazyPage(() => import('./pages/request.tsx'), 'RequestPage'),
});

const overview = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: lazyPage(() => import('./pages/overview.tsx'), 'OverviewPage'),
});

const sandbox = createRoute({
  getParentRoute: () => rootRoute,
  path: '/play',
  component: lazyPage(() => import('./pages/sandbox.tsx'), 'SandboxPage'),
});

const members = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members',
  validateSearch: readMemberSearch,
  component: lazyPage(() => import('./pages/members.tsx'), 'MembersPage'),
});

const privacy = createRoute({
  getParentRoute: () => rootRoute,
  path: '/privacy',
  component: lazyPage(() => import('./pages/privacy.tsx'), 'PrivacyPage'),
});

const catalog = createRoute({
  getParentRoute: () => rootRoute,
  path: '/catalog',
  component: lazyPage(() => import('./pages/catalog.tsx'), 'CatalogPage'),
});

const crm = createRoute({
  getParentRoute: () => rootRoute,
  path: '/crm',
  component: lazyPage(() => import('./pages/crm.tsx'), 'CrmPage'),
});

const alerts = createRoute({
  getParentRoute: () => rootRoute,
  path: '/alerts',
  component: lazyPage(() => import('./pages/alerts.tsx'), 'AlertsPage'),
});

const usage = createRoute({
  getParentRoute: () => rootRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyPage(() => import('./pages/usage.tsx'), 'UsagePage'),
});

const results = createRoute({
  getParentRoute: () => rootRoute,
  path: '/results',
  component: lazyPage(() => import('./pages/results.tsx'), 'ResultsPage'),
});

const audit = createRoute({
  getParentRoute: () => rootRoute,
  path: '/audit',
  validateSearch: readAuditSearch,
  component: lazyPage(() => import('./pages/audit.tsx'), 'AuditPage'),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    overview,
    sandbox,
    keys,
    newKey,
    webhooks,
    newWebhook,
    webhook,
    deliveries,
    delivery,
    requests,
    request,
    members,
    privacy,
    catalog,
    crm,
    alerts,
    usage,
    results,
    audit,
  ]),
  basepath: BASE_PATH,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: Failed,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
