/** What is shown instead of the page, or over it, while nobody who may see it is signed in. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTexts } from './i18n/language.ts';
import { queryClient } from './lib/api.ts';
import type { PlaceOfSignIn } from './lib/host-places.ts';
import { answers, placesOfSignIn } from './lib/hosts.ts';
import { placeIn } from './lib/mode.ts';
import {
  listPeople,
  retrySignIn,
  signInForDevelopment,
  signOut,
  type StateOfNobody,
} from './lib/session.ts';
import { helpsToRetry } from './lib/session-rules.ts';
import { IS_FRAMED } from './lib/host-port.ts';
import { HAS_DEVELOPMENT_LOGIN } from './lib/shell.ts';
import { Actions, Button } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';
import { titleOf } from './ui/heading.tsx';
import { Loaded, ProblemBox } from './ui/states.tsx';

/** Nobody is signed in. `isHostDown`: and nobody can be, because the application is not there. */
export function SignIn({ isHostDown }: { readonly isHostDown: boolean }) {
  const t = useTexts();
  const title = HAS_DEVELOPMENT_LOGIN ? t.session.welcome : t.session.none;
  return (
    <main className="alone">
      <AloneHeading>{isHostDown ? t.session.hostDown : title}</AloneHeading>
      {isHostDown && <p>{t.session.hostDownHint}</p>}
      <WaysIn />
    </main>
  );
}

/** The session has ended. What the reader was doing stays underneath. */
export function SessionEnded() {
  const t = useTexts();
  return (
    <Dialog title={t.session.ended} locked onClose={() => undefined}>
      <p>{t.session.endedHint}</p>
      <WaysIn keepsPage />
    </Dialog>
  );
}

/** Nothing can be shown, for a reason that signing in does not change. */
export function Standstill({
  state,
}: {
  readonly state: Exclude<StateOfNobody, 'loading' | 'none' | 'host_down'> | 'forbidden';
}) {
  const t = useTexts();
  const hints = {
    forbidden: t.session.forbiddenHint,
    closed: t.session.closedHint,
    no_host: t.session.noHostHint,
    no_sandbox: t.sandbox.noneHint,
  };
  const titles = {
    forbidden: t.session.forbidden,
    closed: t.session.closed,
    unreachable: t.session.unreachable,
    no_host: t.session.noHost,
    no_sandbox: t.sandbox.none,
  };
  return (
    <main className="alone">
      <AloneHeading>{titles[state]}</AloneHeading>
      {state in hints && <p>{hints[state as keyof typeof hints]}</p>}
      {state === 'no_sandbox' && (
        <a className="button main" href={placeIn('live', '/play')}>
          {t.sandbox.toMode.live}
        </a>
      )}
      {helpsToRetry(state) ? (
        <Button look="main" onClick={retrySignIn}>
          {t.common.retry}
        </Button>
      ) : (
        !IS_FRAMED && <SignOut />
      )}
    </main>
  );
}

/** The heading of a page that belongs to no team. */
function AloneHeading({ children }: { readonly children: string }) {
  const t = useTexts();
  useEffect(() => {
    document.title = titleOf(t, children, t.app.title);
  }, [children, t]);
  return <h1>{children}</h1>;
}

/** Signs out, or says that the reader is still signed in. */
export function SignOut({ look = 'plain' }: { readonly look?: 'plain' | 'quiet' }) {
  const t = useTexts();
  const leave = useMutation({ mutationFn: signOut });
  return (
    <>
      {leave.error && (
        // The sidebar may be longer than the screen.
        <p
          role="alert"
          className="notice bad"
          ref={(one) => one?.scrollIntoView({ block: 'nearest' })}
        >
          {t.session.signOutFailed}
        </p>
      )}
      <Button look={look} busy={leave.isPending} onClick={() => leave.mutate()}>
        {t.app.signOut}
      </Button>
    </>
  );
}

function WaysIn({ keepsPage = false }: { readonly keepsPage?: boolean }) {
  if (HAS_DEVELOPMENT_LOGIN) return <DevelopmentLogin />;
  const places = IS_FRAMED ? [] : placesOfSignIn();
  return places.length === 0 ? <FromHost /> : <AtHost places={places} keepsPage={keepsPage} />;
}

/** Signing in happens in the application around the page, or in another tab. */
function FromHost() {
  const t = useTexts();
  return (
    <>
      <p>{t.session.noneHint}</p>
      <Button look="main" onClick={retrySignIn}>
        {t.common.retry}
      </Button>
    </>
  );
}

/** Host applications lead back to the same address. `keepsPage`: something may be lost here. */
function AtHost({
  places,
  keepsPage,
}: {
  readonly places: readonly PlaceOfSignIn[];
  readonly keepsPage: boolean;
}) {
  const t = useTexts();
  const visit = useMutation({
    mutationFn: async ({ href, origin }: PlaceOfSignIn) => {
      if (!(await answers(origin))) throw new Error(`${origin} does not answer`);
      location.assign(href);
    },
  });
  const hasChoice = places.length > 1;
  return (
    <>
      {hasChoice && <p>{t.session.chooseHost}</p>}
      {visit.error && (
        <p role="alert" className="notice bad">
          {t.session.hostDownHint}
        </p>
      )}
      <Actions>
        {places.map((place) => (
          <a
            key={place.origin}
            className={hasChoice ? 'button' : 'button main'}
            href={place.href}
            onClick={(event) => {
              event.preventDefault();
              visit.mutate(place);
            }}
          >
            {hasChoice ? t.session.signInAt(new URL(place.origin).host) : t.session.signIn}
          </a>
        ))}
        {keepsPage &&
          places.slice(0, 1).map(({ href }) => (
            <a key={href} className="button" href={href} target="_blank" rel="noreferrer">
              {t.session.signInBeside}
            </a>
          ))}
      </Actions>
      {keepsPage && <p className="hint">{t.session.signInBesideHint}</p>}
    </>
  );
}

function DevelopmentLogin() {
  const t = useTexts();
  const people = useQuery({ queryKey: ['development-people'], queryFn: listPeople });
  const signIn = useMutation({
    mutationFn: signInForDevelopment,
    onSuccess: () => queryClient.invalidateQueries(),
  });
  return (
    <>
      <p>{t.session.developmentHint}</p>
      {signIn.error && <ProblemBox error={signIn.error} />}
      <Loaded query={people} rows={3}>
        {(list) => (
          <ul className="people">
            {list.map(({ user_id, email, role }) => (
              <li key={user_id}>
                <Button busy={signIn.isPending} onClick={() => signIn.mutate(user_id)}>
                  <span>{t.session.continueAs(email?.split('@')[0] ?? user_id)}</span>
                  <small>{t.roles[role]}</small>
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </>
  );
}
