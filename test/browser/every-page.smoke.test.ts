// Each theme, each language and each end of the screens once; the other pairs are in `every-page`.
import { describeWalks, NARROW, WIDE } from './every-page.ts';

describeWalks([
  { language: 'de', locale: 'de-DE', colorScheme: 'dark', viewport: NARROW },
  { language: 'en', locale: 'en-GB', colorScheme: 'light', viewport: WIDE },
]);
