/** The addresses of the page. Each page is loaded when it is first opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { Frame } from './frame.tsx';
import { readDeliverySearch } from './lib/search.ts';
import { ADMIN_PATH } from './lib/shell.ts';
import { Failed, NotFound } from './ui/not-found.tsx';

const rootRoute = createRootRoute({ component: Frame });

const keys = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  validateSearch: (search: Record<string, unknown>): { ended?: true } =>
    search['ended'] === true ? { ended: true } : {},
  component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'KeysPage'),
});

const newKey = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys/new',
  component: lazyRouteComponent(() => import('./pages/new-key.tsx'), 'NewKeyPage'),
});

const webhooks = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
});

const newWebhook = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks/new',
  component: lazyRouteComponent(() => import('./pages/new-webhook.tsx'), 'NewWebhookPage'),
});

const webhook = createRoute({
  getParentRoute: () => rootRoute,
  path: '/webhooks/$endpointId',
  component: lazyRouteComponent(() => import('./pages/webhook.tsx'), 'WebhookPage'),
});

const deliveries = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries',
  validateSearch: readDeliverySearch,
  component: lazyRouteComponent(() => import('./pages/deliveries.tsx'), 'DeliveriesPage'),
});

const delivery = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('./pages/delivery.tsx'), 'DeliveryPage'),
});

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'KeysPage'),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    keys,
    newKey,
    webhooks,
    newWebhook,
    webhook,
    deliveries,
    delivery,
  ]),
  basepath: ADMIN_PATH,
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
