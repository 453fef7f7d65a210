import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterOutputs } from '../lib/api.ts';
import { IS_SANDBOX } from '../lib/mode.ts';
import { readPreference, writePreference } from '../lib/preferences.ts';
import { useSession } from '../lib/session.ts';
import { Button } from '../ui/button.tsx';
import { DocsLink } from '../ui/docs-link.tsx';
import { ANEW, type Facts } from './overview-facts.ts';
import { stepsDone } from './overview-figures.ts';

const HIDDEN = 'hidden';

/** What the list needs besides the facts, and whether it was hidden in this browser. */
export function useFirstSteps() {
  const { team } = useSession();
  const name = `first-steps.${team.id}`;
  const [isHidden, setHidden] = useState(() => readPreference(name) === HIDDEN);
  const admins = useQuery({
    ...api.admin.members.search.queryOptions({ role: 'admin', sort: 'role', limit: 200 }),
    ...ANEW,
    enabled: !isHidden,
  });
  return {
    isHidden,
    isPending: !isHidden && admins.isPending,
    admins,
    hide: () => {
      writePreference(name, HIDDEN);
      setHidden(true);
    },
  };
}

/** What a new team does first, with a tick at what it has done. It goes when all is done. */
export function FirstSteps({
  facts,
  admins,
  onHide,
}: {
  readonly facts: Facts;
  readonly admins: RouterOutputs['admin']['members']['search']['data'];
  readonly onHide: () => void;
}) {
  const t = useTexts();
  const { member_id, has_sandbox } = useSession();
  const [hook] = facts.hooks;
  const isDone = stepsDone(facts, { admins, ownId: member_id });
  const steps: { readonly isDone: boolean; readonly link: ReactNode }[] = [
    ...(IS_SANDBOX
      ? []
      : [{ isDone: has_sandbox, link: <Link to="/play">{t.steps.rehearse}</Link> }]),
    { isDone: isDone.key, link: <Link to="/keys/new">{t.steps.key}</Link> },
    {
      isDone: isDone.request,
      link: <DocsLink page="/quickstart">{t.steps.request}</DocsLink>,
    },
    { isDone: isDone.webhook, link: <Link to="/webhooks/new">{t.steps.webhook}</Link> },
    {
      isDone: isDone.test,
      link: hook ? (
        <Link to="/webhooks/$endpointId" params={{ endpointId: hook.endpoint_id }}>
          {t.steps.test}
        </Link>
      ) : (
        <Link to="/webhooks">{t.steps.test}</Link>
      ),
    },
    // The admins of a sandbox are those of its live team.
    ...(IS_SANDBOX
      ? []
      : [
          {
            isDone: isDone.colleague,
            link: (
              <Link to="/members" search={{ role: 'admin' }}>
                {t.steps.colleague}
              </Link>
            ),
          },
        ]),
  ];
  const done = steps.filter((step) => step.isDone).length;
  // Once half of it is done, it is a line. It does not close under who reads it.
  const [isOpen] = useState(done * 2 < steps.length);
  if (done === steps.length) return null;
  return (
    <details className="card steps" open={isOpen}>
      <summary>
        <strong>{t.steps.title}</strong>
        <progress value={done} max={steps.length} aria-hidden="true" />
        <span className="hint">{t.steps.done(done, steps.length)}</span>
      </summary>
      <ol>
        {steps.map(({ isDone: isTicked, link }, place) => (
          <li key={place} data-done={isTicked || undefined}>
            <span
              className="tick"
              role="img"
              aria-label={isTicked ? t.steps.isDone : t.steps.isOpen}
            >
              {isTicked ? '✓' : place + 1}
            </span>
            {link}
          </li>
        ))}
      </ol>
      <Button look="quiet" onClick={onHide}>
        {t.steps.hide}
      </Button>
    </details>
  );
}
