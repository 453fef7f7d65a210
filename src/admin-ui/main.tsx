import './style.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './lib/api.ts';
import { setLanguage } from './i18n/language.ts';
import { connectToHost, IS_FRAMED } from './lib/host-port.ts';
import { acceptToken, startSession } from './lib/session.ts';
import { setTheme } from './lib/theme.ts';
import { router } from './routes.tsx';

const root = document.querySelector('#root');
if (!root) throw new Error('the document has no root');

if (IS_FRAMED) {
  connectToHost({
    token: (token) => void acceptToken(token),
    theme: (theme) => {
      if (theme === 'light' || theme === 'dark') setTheme(theme, false);
    },
    language: (language) => {
      if (language === 'de' || language === 'en') setLanguage(language, false);
    },
  });
} else void startSession();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
