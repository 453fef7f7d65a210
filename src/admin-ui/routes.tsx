/** The addresses of the page. Each page is loaded when it is first opened. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import type { ComponentType } from 'react';
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

/** The route of a page whose address holds nothing but its path. */
function page<const Path extends string, Name extends string>(
  path: Path,
  load: () => Promise<Readonly<Record<Name, ComponentType>>>,
  name: Name,
) {
  return createRoute({ getParentRoute: () => rootRoute, path, component: lazyPage(load, name) });
}

const keys = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): { ended?: true | undefined } =>
    search['ended'] === true ? { ended: true } : {},
  component: lazyPage(() => import('./pages/keys.tsx'), 'KeysPage'),
});

const newKey = page('/keys/new', () => import('./pages/new-key.tsx'), 'NewKeyPage');
const webhooks = page('/webhooks', () => import('./pages/webhooks.tsx'), 'WebhooksPage');
const newWebhook = page('/webhooks/new', () => import('./pages/new-webhook.tsx'), 'NewWebhookPage');
const webhook = page('/webhooks/$endpointId', () => import('./pages/webhook.tsx'), 'WebhookPage');

const deliveries = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries',
  validateSearch: readDeliverySearch,
  component: lazyPage(() => import('./pages/deliveries.tsx'), 'DeliveriesPage'),
});

const delivery = page(
  '/deliveries/$deliveryId',
  () => import('./pages/delivery.tsx'),
  'DeliveryPage',
);

const requests = createRoute({
  getParentRoute: () => rootRoute,
  path: '/requests',
  validateSearch: readRequestSearch,
  component: lazyPage(() => import('./pages/requests.tsx'), 'RequestsPage'),
});

const request = page('/requests/$requestId', () => import('./pages/request.tsx'), 'RequestPage');
const overview = page('/', () => import('./pages/overview.tsx'), 'OverviewPage');
const sandbox = page('/play', () => import('./pages/sandbox.tsx'), 'SandboxPage');

const members = createRoute({
  getParentRoute: () => rootRoute,
  path: '/members',
  validateSearch: readMemberSearch,
  component: lazyPage(() => import('./pages/members.tsx'), 'MembersPage'),
});

const member = page('/members/$memberId', () => import('./pages/member.tsx'), 'MemberPage');
const privacy = page('/privacy', () => import('./pages/privacy.tsx'), 'PrivacyPage');
const catalog = page('/catalog', () => import('./pages/catalog.tsx'), 'CatalogPage');
const crm = page('/crm', () => import('./pages/crm.tsx'), 'CrmPage');
const alerts = page('/alerts', () => import('./pages/alerts.tsx'), 'AlertsPage');

const usage = createRoute({
  getParentRoute: () => rootRoute,
  path: '/usage',
  validateSearch: readUsageSearch,
  component: lazyPage(() => import('./pages/usage.tsx'), 'UsagePage'),
});

const results = page('/results', () => import('./pages/results.tsx'), 'ResultsPage');

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
    member,
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
