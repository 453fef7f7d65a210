import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { readPreference, writePreference } from '../lib/preferences.ts';
import { useSession } from '../lib/session.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { Button } from '../ui/button.tsx';
import { ANEW, type Facts } from './overview-facts.ts';

const HIDDEN = 'hidden';

/** What a new team does first, with a tick at what it has done. It goes when all is done. */
export function FirstSteps({ facts }: { readonly facts: Facts }) {
  const { team } = useSession();
  const name = `first-steps.${team.id}`;
  const [isHidden, setHidden] = useState(() => readPreference(name) === HIDDEN);
  const hide = () => {
    writePreference(name, HIDDEN);
    setHidden(true);
  };
  return isHidden ? null : <Steps facts={facts} onHide={hide} />;
}

function Steps({
  facts: { keys, hooks },
  onHide,
}: {
  readonly facts: Facts;
  readonly onHide: () => void;
}) {
  const t = useTexts();
  const { member_id } = useSession();
  const admins = useQuery({
    ...api.admin.members.search.queryOptions({ role: 'admin', limit: 200 }),
    ...ANEW,
  });
  const [hook] = hooks;
  const hasColleague = (admins.data?.data ?? []).some(
    ({ id, rights }) => id !== member_id && rights.length > 0,
  );
  const steps: { readonly isDone: boolean; readonly link: ReactNode }[] = [
    { isDone: keys.length > 0, link: <Link to="/keys/new">{t.steps.key}</Link> },
    {
      isDone: keys.some(({ last_used_at }) => last_used_at !== null),
      link: (
        <a href={`${SERVICE_PATH}/docs/quickstart`} target="_blank" rel="noreferrer">
          {t.steps.request}
        </a>
      ),
    },
    { isDone: hook !== undefined, link: <Link to="/webhooks/new">{t.steps.webhook}</Link> },
    {
      isDone: hooks.some(({ arrived }) => arrived.includes(true)),
      link: hook ? (
        <Link to="/webhooks/$endpointId" params={{ endpointId: hook.endpoint_id }}>
          {t.steps.test}
        </Link>
      ) : (
        <Link to="/webhooks">{t.steps.test}</Link>
      ),
    },
    {
      isDone: hasColleague,
      link: (
        <Link to="/members" search={{ role: 'admin' }}>
          {t.steps.colleague}
        </Link>
      ),
    },
  ];
  const done = steps.filter(({ isDone }) => isDone).length;
  if (admins.data === undefined || done === steps.length) return null;
  return (
    <section className="card steps">
      <div className="section-head">
        <h2>{t.steps.title}</h2>
        <Button look="quiet" onClick={onHide}>
          {t.steps.hide}
        </Button>
      </div>
      <p className="hint">{t.steps.done(done, steps.length)}</p>
      <ol>
        {steps.map(({ isDone, link }, place) => (
          <li key={place} data-done={isDone || undefined}>
            <span className="tick" role="img" aria-label={isDone ? t.steps.isDone : t.steps.isOpen}>
              {isDone ? '✓' : place + 1}
            </span>
            {link}
          </li>
        ))}
      </ol>
    </section>
  );
}
