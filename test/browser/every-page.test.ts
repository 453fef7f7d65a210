// The pairs of a theme and a language that `every-page.smoke` leaves out.
import { describeWalks, NARROW, WIDE } from './every-page.ts';

describeWalks([
  { language: 'de', locale: 'de-DE', colorScheme: 'light', viewport: WIDE },
  { language: 'en', locale: 'en-GB', colorScheme: 'dark', viewport: NARROW },
]);
