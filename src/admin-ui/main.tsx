import './style.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './lib/api.ts';
import { setLanguage } from './i18n/language.ts';
import { awaitHeading } from './lib/focus.ts';
import { setHostColors } from './lib/host-colors.ts';
import { connectToHost, IS_FRAMED, tellPlace } from './lib/host-port.ts';
import { isHere } from './lib/mode.ts';
import { acceptToken, missHost, startSession, untilKnown } from './lib/session.ts';
import { ADMIN_PATH } from './lib/shell.ts';
import { setTheme } from './lib/theme.ts';
import { router } from './routes.tsx';

const root = document.querySelector('#root');
if (!root) throw new Error('the document has no root');

if (IS_FRAMED) {
  connectToHost({
    token: (token) => void acceptToken(token),
    theme: (theme) => setTheme(theme, false),
    language: (language) => setLanguage(language, false),
    colors: setHostColors,
    go: (path) => {
      if (!isHere(path)) {
        location.assign(ADMIN_PATH + path);
        return;
      }
      router.history.push(ADMIN_PATH + path);
      // The router listens to its history only once it is rendered.
      if (router.history.subscribers.size === 0) void router.load();
    },
    silence: missHost,
  });
  router.subscribe('onResolved', () =>
    tellPlace(location.pathname.slice(ADMIN_PATH.length) + location.search),
  );
} else void startSession();
router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
  // The first page gets the focus from the browser.
  if (fromLocation && pathChanged) awaitHeading();
});
// Until then the document shows what the server has sent.
void Promise.all([untilKnown(), router.load()]).then(() =>
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  ),
);
