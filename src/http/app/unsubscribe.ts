/**
 * Ends a member's alerts by the link of a mail (RFC 8058): a mail program sends a POST, a reader
 * gets a page with one button that does. Mail scanners follow links, so a GET changes nothing.
 *
 * Nobody signs in here. The signature of the token is checked before the database is asked. All
 * that is no token of ours is answered alike, and a token of ours always in the same way, whether
 * or not its team, its member or its subscription still exist.
 */
import { createHash } from 'node:crypto';
import { Router, type RequestHandler, type Response } from 'express';
import type { AppSecrets } from '../../core/encryption.ts';
import type { Language } from '../../core/language.ts';
import { readUnsubscribeToken, UNSUBSCRIBE_PATH } from '../../core/unsubscribe-token.ts';
import type { Database } from '../../db/connections/database.ts';
import { negotiateLanguage } from '../api/language.ts';
import { toProblem } from '../api/problem-response.ts';
import { securityHeaders } from '../api/security-headers.ts';
import { endAlerts } from './unsubscribe-store.ts';

type State = 'ask' | 'done' | 'invalid' | 'busy';

const STATUS: Readonly<Record<State, number>> = { ask: 200, done: 200, invalid: 404, busy: 503 };

/** The link of the mails, to be mounted behind the limits for strangers. */
export function unsubscribeRouter({
  db,
  secrets,
}: {
  readonly db: Database;
  readonly secrets: AppSecrets;
}): Router {
  const router = Router({ caseSensitive: true });
  router.use(UNSUBSCRIBE_PATH, HEADERS);
  router
    .route(`${UNSUBSCRIBE_PATH}/:token`)
    .get((request, response) => {
      const subscriber = readUnsubscribeToken(request.params.token, secrets);
      show(response, subscriber ? 'ask' : 'invalid', request.headers['accept-language']);
    })
    .post(async (request, response) => {
      const subscriber = readUnsubscribeToken(request.params.token, secrets);
      const language = request.headers['accept-language'];
      if (!subscriber) {
        show(response, 'invalid', language);
        return;
      }
      try {
        await endAlerts(db.forCaller({ share: subscriber.teamId }), subscriber);
      } catch (error) {
        if (toProblem(error, null).code !== 'unavailable') throw error;
        show(response, 'busy', language);
        return;
      }
      show(response, 'done', language);
    });
  return router;
}

function show(response: Response, state: State, acceptLanguage: string | undefined): void {
  const language = negotiateLanguage(acceptLanguage);
  response.status(STATUS[state]).vary('Accept-Language').set({
    'Cache-Control': 'no-store',
    'Content-Language': language,
    'X-Robots-Tag': 'noindex',
  });
  response.type('html').send(pageOf(state, language));
}

/** Nothing in the page comes from the request. The form goes to the address of the page itself. */
function pageOf(state: State, language: Language): string {
  const { title, button, ...texts } = TEXTS[language];
  return `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} – Team Customer API</title>
    <style>${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p>${texts[state]}</p>
      ${state === 'ask' ? `<form method="post"><button>${button}</button></form>` : ''}
    </main>
  </body>
</html>
`;
}

const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 }
main { max-width: 36rem; margin: 4rem auto; padding: 0 1rem }
button { font: inherit; padding: 0.5rem 1rem }
`;

/** The page has no script, and its only style is the one that is written into it. */
const HEADERS: RequestHandler = securityHeaders({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'style-src': [`'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`],
      'base-uri': ["'none'"],
      'form-action': ["'self'"],
      'frame-ancestors': ["'none'"],
    },
  },
});

interface Texts extends Readonly<Record<State, string>> {
  readonly title: string;
  readonly button: string;
}

const TEXTS: Readonly<Record<Language, Texts>> = {
  de: {
    title: 'Meldungen per E-Mail',
    ask: 'Möchten Sie alle Meldungen dieses Teams per E-Mail abbestellen?',
    button: 'Abbestellen',
    done: 'Sie erhalten von diesem Team keine Meldungen per E-Mail mehr.',
    invalid:
      'Dieser Link ist nicht gültig. Die Meldungen lassen sich auch auf der Admin-Seite ' +
      'unter „Meldungen“ abbestellen.',
    busy: 'Das hat nicht geklappt. Bitte versuchen Sie es in einer Minute erneut.',
  },
  en: {
    title: 'Email alerts',
    ask: 'Do you want to unsubscribe from all alerts of this team?',
    button: 'Unsubscribe',
    done: 'You no longer get email alerts of this team.',
    invalid: 'This link is not valid. You can also unsubscribe on the admin page, under “Alerts”.',
    busy: 'This did not work. Please try again in a minute.',
  },
};
