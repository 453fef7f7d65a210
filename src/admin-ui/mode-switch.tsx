import { useIsMutating } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import type { Mode } from '../core/sandbox.ts';
import { useTexts } from './i18n/language.ts';
import { placeIn } from './lib/mode.ts';
import { useSession } from './lib/session.ts';
import { MODE } from './lib/shell.ts';

/** Leads from the live team to its sandbox and back. `onOffer`: the team has none yet. */
export function ModeSwitch({ onOffer }: { readonly onOffer: () => void }) {
  const t = useTexts();
  // Nobody would see what came of a change, nor in which team.
  const isChanging = useIsMutating() > 0;
  return (
    <div className="modes" role="group" aria-label={t.sandbox.modes}>
      {(['live', 'test'] as const).map((mode) =>
        mode === MODE ? (
          <span key={mode} className="mode" data-mode={mode} aria-current="true">
            {t.sandbox.modeNames[mode]}
          </span>
        ) : (
          <Other key={mode} mode={mode} isOff={isChanging} onOffer={onOffer} />
        ),
      )}
    </div>
  );
}

function Other({
  mode,
  isOff,
  onOffer,
}: {
  readonly mode: Mode;
  readonly isOff: boolean;
  readonly onOffer: () => void;
}) {
  const t = useTexts();
  const { has_sandbox } = useSession();
  const { pathname } = useLocation();
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
    <button type="button" {...shared} onClick={isOff ? undefined : onOffer}>
      {t.sandbox.modeNames[mode]}
    </button>
  );
}
