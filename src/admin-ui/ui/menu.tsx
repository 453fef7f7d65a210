import { useId, useRef, type MouseEvent, type ReactNode } from 'react';

const GAP_PX = 4;

/**
 * A button that shows other buttons, for rows with more actions than they have room for. `label`
 * names it, such as "Actions: Kim". Esc and a click elsewhere close it.
 */
export function Menu({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // The focus is back at the opener before a dialog remembers where it was.
  const choose = ({ target }: MouseEvent) => {
    const button = target instanceof Element && target.closest('button, a');
    if (button && button.ariaDisabled !== 'true') list.current?.hidePopover();
  };
  return (
    <>
      <button
        ref={opener}
        type="button"
        className="button menu-opener"
        aria-label={label}
        title={label}
        popoverTarget={id}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M3 8h.01M8 8h.01M13 8h.01" />
        </svg>
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu-list"
        onClickCapture={choose}
        onToggle={({ newState }) => {
          if (newState === 'open' && opener.current && list.current)
            place(list.current, opener.current);
        }}
      >
        {children}
      </div>
    </>
  );
}

/** Below the opener, or above it where there is no room below. It scrolls with the page. */
function place(list: HTMLElement, opener: HTMLElement): void {
  const at = opener.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = list;
  const below = at.bottom + GAP_PX;
  const isBelow = below + offsetHeight <= window.innerHeight || at.top < offsetHeight + GAP_PX;
  const top = isBelow ? below : at.top - GAP_PX - offsetHeight;
  const left = Math.max(GAP_PX, at.right - offsetWidth);
  list.style.insetBlockStart = `${top + window.scrollY}px`;
  list.style.insetInlineStart = `${left + window.scrollX}px`;
  list.querySelector<HTMLElement>('button, a')?.focus();
}
