import { useSyncExternalStore } from 'react';
import { useTexts } from '../i18n/language.ts';

/** Says that the reader is offline. Dialogs have it, too, because they cover the page. */
export function Offline() {
  const t = useTexts();
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  return <div role="status">{!isOnline && <p className="notice warn">{t.session.offline}</p>}</div>;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}
