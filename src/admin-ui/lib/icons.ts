import type { Page } from './navigation.ts';

/** Lines of the icon of each page, in a square of 16. */
export const ICONS: Readonly<Record<Page['name'], string>> = {
  overview: 'M2.5 2.5H7V7H2.5zM9 2.5h4.5V7H9zM2.5 9H7v4.5H2.5zM9 9h4.5v4.5H9z',
  sandbox: 'M6 2h4M6.8 2v4L3 12.4c-.5.8.1 1.6 1 1.6h8c.9 0 1.5-.8 1-1.6L9.2 6V2M5 10h6',
  keys: 'M5 13.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.2 8.4l6.3-6.4M11 4.5l2 2M9.2 6.4l1.4 1.4',
  requests: 'M2 5h11M10 2l3 3-3 3M14 11H3M6 8l-3 3 3 3',
  webhooks:
    'M8 9.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 11a4.2 4.2 0 0 1 0-6M11 5a4.2 4.2 0 0 1 0 6' +
    'M3 13A7 7 0 0 1 3 3M13 3a7 7 0 0 1 0 10',
  deliveries: 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5z',
  crm:
    'M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zM2.5 4v8c0 1.1 2.5 2 5.5 2' +
    's5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  alerts: 'M4 6.5a4 4 0 0 1 8 0c0 4 1.5 5 1.5 5h-11S4 10.5 4 6.5zM6.7 14h2.6',
  members:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 14v-1.3A2.7 2.7 0 0 1 4.2 10h3.6' +
    'a2.7 2.7 0 0 1 2.7 2.7V14M10.5 2.6a2.5 2.5 0 0 1 0 4.8M14.5 14v-1.3a2.7 2.7 0 0 0-2-2.6',
  privacy: 'M8 14.5s5.5-2 5.5-6.7V3.5L8 1.5l-5.5 2v4.3c0 4.7 5.5 6.7 5.5 6.7z',
  catalog: 'M2 4h6M12 4h2M10 2.5v3M2 8h2M8 8h6M6 6.5v3M2 12h7M13 12h1M11 10.5v3',
  usage: 'M2.5 13.5V9M6.2 13.5V5M9.8 13.5v-6M13.5 13.5v-11',
  results: 'M1.5 12 6 7.5l3 3 5.5-6M10.5 4.5h4v4',
  audit: 'M5 2.5H3.5V14h9V2.5H11M5.5 1.5h5V4h-5zM6 7.5h4M6 10.5h4',
};
