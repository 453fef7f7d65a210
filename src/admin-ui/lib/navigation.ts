import type { Mode } from '../../core/sandbox.ts';

/** What follows `/admin` in the addresses of the live team, and of its sandbox. */
export const MODE_PATHS: Readonly<Record<Mode, string>> = { live: '', test: '/sandbox' };

/** The pages of the navigation, in their groups. */
export const NAVIGATION = [
  {
    group: null,
    pages: [
      { to: '/', name: 'overview' },
      { to: '/play', name: 'sandbox' },
    ],
  },
  {
    group: 'connect',
    pages: [
      { to: '/keys', name: 'keys' },
      { to: '/requests', name: 'requests' },
      { to: '/webhooks', name: 'webhooks' },
      { to: '/deliveries', name: 'deliveries' },
      { to: '/crm', name: 'crm' },
      { to: '/alerts', name: 'alerts' },
    ],
  },
  {
    group: 'team',
    pages: [
      { to: '/members', name: 'members' },
      { to: '/privacy', name: 'privacy' },
      { to: '/catalog', name: 'catalog' },
    ],
  },
  {
    group: 'insight',
    pages: [
      { to: '/usage', name: 'usage' },
      { to: '/results', name: 'results' },
      { to: '/audit', name: 'audit' },
    ],
  },
] as const;

export type Page = (typeof NAVIGATION)[number]['pages'][number];
