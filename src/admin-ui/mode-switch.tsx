import { useIsMutating } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import type { Mode } from './../core/sandbox.ts';
import { useTexts } from './i18n/language.ts';
import { lazyPage } from './lib/lazy.tsx';
import { placeIn } from './lib/mode.ts';
import { useSession } from './lib/session.ts';
import { MODE } from './lib/shell.ts';

const CreateSandbox = lazyPage<'CreateSandbox', { readonly onClose: () => void }>(
  () => import('./pages/create-sandbox.tsx'),
  'CreateSandbox',
);

/** Leads from the live team to its sandbox and back. A team without one is offered it. */
export function ModeSwitch() {
  const t = useTexts();
  // The answer to a change would be lost, and whoever waits for it takes the other team for this one.
  const isChanging = useIsMutating() > 0;
  return (
    <div className="modes" role="group" aria-label={t.sandbox.modes}>
      {(['live', 'test'] as const).map((mode) =>
        mode === MODE ? (
          <span key={mode} className="mode" data-mode={mode} aria-current="true">
            {t.sandbox.modeNames[mode]}
          </span>
        ) : (
          <Other key={mode} mode={mode} isOff={isChanging} />
        ),
      )}
    </div>
  );
}

function Other({ mode, isOff }: { readonly mode: Mode; readonly isOff: boolean }) {
  const t = useTexts();
  const { has_sandbox } = useSession();
  const { pathname } = useLocation();
  const [isOffered, setOffered] = useState(false);
  const shared = {
    className: 'mode',
    'aria-disabled': isOff || undefined,
    title: isOff ? t.sandbox.whyNotNow : t.sandbox.toMode[mode],
  };
  if (has_sandbox)
    return (
      <a
        {...shared}
        href={placeIn(mode, pathname)}
        onClick={(event) => {
          if (isOff) event.preventDefault();
        }}
      >
        {t.sandbox.modeNames[mode]}
      </a>
    );
  return (
    <>
      <button type="button" {...shared} onClick={() => setOffered(!isOff)}>
        {t.sandbox.modeNames[mode]}
      </button>
      {isOffered && (
        <Suspense>
          <CreateSandbox onClose={() => setOffered(false)} />
        </Suspense>
      )}
    </>
  );
}
