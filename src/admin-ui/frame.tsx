/** What surrounds every page: navigation, the reader's choices, and the states of the session. */
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { Suspense, useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { setLanguage, useLanguage, useTexts } from './i18n/language.ts';
import { docsPath } from './lib/docs.ts';
import { keepFocus } from './lib/focus.ts';
import { listenForFinder, showFinder, useFinder } from './lib/finder.ts';
import { shownPages } from './lib/host-choices.ts';
import { IS_FRAMED, tellHeight, useHostChoices } from './lib/host-port.ts';
import { MODE, SERVICE_PATH } from './lib/shell.ts';
import { lazyPage, preloadPages } from './lib/lazy.tsx';
import { ICONS } from './lib/icons.ts';
import { NAVIGATION, type Page } from './lib/navigation.ts';
import { useSession, useSessionState, type StateOfNobody } from './lib/session.ts';
import { standstillOf } from './lib/session-rules.ts';
import { setTheme, useTheme } from './lib/theme.ts';
import { THEMES, type Theme } from './lib/themes.ts';
import { ModeSwitch } from './mode-switch.tsx';
import { Finder } from './pages/finder.tsx';
import { SessionEnded, SignIn, SignOut, Standstill } from './sign-in.tsx';
import { Band } from './ui/band.tsx';
import { FailedReads } from './ui/failed-reads.tsx';
import { NoticeRegion } from './ui/notice.tsx';
import { Offline } from './ui/offline.tsx';
import { Progress } from './ui/progress.tsx';
import { Loading } from './ui/states.tsx';

/** The first page comes first. */
const PRELOAD_AFTER_MS = 1_500;

const CreateSandbox = lazyPage<'CreateSandbox', { readonly onClose: () => void }>(
  () => import('./pages/create-sandbox.tsx'),
  'CreateSandbox',
);

export function Frame() {
  const state = useSessionState();
  const standstill = standstillOf(state);
  if (standstill !== null)
    return (
      <div className="app" data-mode={MODE}>
        <header className="head">
          <Band />
        </header>
        <Alone state={standstill} />
      </div>
    );
  return (
    <>
      <SignedIn />
      {state.kind === 'ended' && <SessionEnded />}
    </>
  );
}

function Alone({ state }: { readonly state: StateOfNobody | 'forbidden' }) {
  if (state === 'loading')
    return (
      <main className="alone">
        <Loading />
      </main>
    );
  if (state === 'none' || state === 'host_down')
    return <SignIn isHostDown={state === 'host_down'} />;
  return <Standstill state={state} />;
}

function SignedIn() {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  const [isOffered, setOffered] = useState(false);
  const offer = () => setOffered(true);
  const location = useLocation();
  const main = useRef<HTMLElement>(null);
  useEffect(() => (main.current ? keepFocus(main.current) : undefined), []);
  useEffect(() => {
    const timer = window.setTimeout(() => void preloadPages(), PRELOAD_AFTER_MS);
    return () => window.clearTimeout(timer);
  }, []);
  useEffect(() => setOpen(false), [location.pathname]);
  useEffect(listenForFinder, []);
  const isFinding = useFinder();
  const { navigation } = useHostChoices();
  useEffect(() => {
    if (!IS_FRAMED || !main.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const { target } = entry ?? {};
      if (target instanceof HTMLElement) tellHeight(target.offsetTop + target.offsetHeight);
    });
    observer.observe(main.current);
    return () => observer.disconnect();
  }, []);
  return (
    <>
      <a
        className="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {t.app.skip}
      </a>
      <div
        className="app"
        data-mode={MODE}
        data-menu={isOpen || undefined}
        data-bare={navigation === false || undefined}
      >
        <Head isOpen={isOpen} onMenu={() => setOpen(!isOpen)} onOffer={offer} />
        <div className="frame">
          <Side onOffer={offer} />
          <main id="content" ref={main} tabIndex={-1}>
            <Offline />
            <FailedReads />
            <Outlet />
            {/* A part of this file: the letters that are typed while it loads would be lost. */}
            {isFinding && <Finder />}
            {isOffered && (
              <Suspense>
                <CreateSandbox onClose={() => setOffered(false)} />
              </Suspense>
            )}
          </main>
        </div>
      </div>
      <Progress />
      <NoticeRegion />
    </>
  );
}

/** On small screens, the navigation opens from here. */
function Head({
  isOpen,
  onMenu,
  onOffer,
}: {
  readonly isOpen: boolean;
  readonly onMenu: () => void;
  readonly onOffer: () => void;
}) {
  const t = useTexts();
  return (
    <header className="head">
      <Band />
      <div className="top">
        <TeamName />
        <div className="top-buttons">
          <ModeSwitch onOffer={onOffer} />
          <button
            type="button"
            className="menu-button"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={onMenu}
          >
            {t.app.menu}
          </button>
        </div>
      </div>
    </header>
  );
}

/** A word that is longer than its line ends in dots. Who points at the name reads all of it. */
function TeamName() {
  const { name } = useSession().team;
  return (
    <p className="team" title={name}>
      {name}
    </p>
  );
}

function Side({ onOffer }: { readonly onOffer: () => void }) {
  const t = useTexts();
  return (
    <aside className="side" id="navigation" aria-label={t.app.menu}>
      <TeamName />
      <ModeSwitch onOffer={onOffer} />
      <button type="button" className="find" aria-keyshortcuts="/" onClick={() => showFinder(true)}>
        {t.finder.open} <kbd aria-hidden="true">/</kbd>
      </button>
      <Navigation />
      <Choices />
    </aside>
  );
}

function Navigation() {
  const t = useTexts();
  const { navigation } = useHostChoices();
  return (
    <nav aria-label={t.app.navigation}>
      {NAVIGATION.map(({ group, pages }) => {
        const shown = shownPages<Page>(pages, navigation);
        if (shown.length === 0) return null;
        const links = shown.map(({ to, name }) => (
          <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d={ICONS[name]} />
            </svg>
            {t.nav[name]}
          </Link>
        ));
        return group === null ? (
          links
        ) : (
          <NavigationGroup key={group} title={t.nav[group]}>
            {links}
          </NavigationGroup>
        );
      })}
    </nav>
  );
}

function NavigationGroup({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <div role="group" aria-labelledby={id}>
      <p className="nav-group" id={id}>
        {title}
      </p>
      {children}
    </div>
  );
}

/** What the host application decides is not offered here. */
function Choices() {
  const t = useTexts();
  const language = useLanguage();
  const theme = useTheme();
  const byHost = useHostChoices();
  return (
    <div className="choices">
      {!byHost.language && (
        <label>
          <span className="visually-hidden">{t.app.language}</span>
          <select
            value={language}
            onChange={(event) => setLanguage(event.currentTarget.value === 'de' ? 'de' : 'en')}
          >
            <option value="de" lang="de">
              Deutsch
            </option>
            <option value="en" lang="en">
              English
            </option>
          </select>
        </label>
      )}
      {!byHost.theme && (
        <label>
          <span className="visually-hidden">{t.app.theme}</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            {THEMES.map((one) => (
              <option key={one} value={one}>
                {t.app.themes[one]}
              </option>
            ))}
          </select>
        </label>
      )}
      <a
        href={`${SERVICE_PATH}${docsPath(language, '')}`}
        target={IS_FRAMED ? '_blank' : undefined}
      >
        {t.app.docs}
      </a>
      {!IS_FRAMED && <SignOut look="quiet" />}
    </div>
  );
}
