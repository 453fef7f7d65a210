import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Texts } from '../i18n/en.ts';
import { useFormat } from '../i18n/format.ts';
import { atLeast, type Format } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { nameOfEndpoint } from './endpoint-name.ts';
import { few } from './few.ts';
import { nameOfKey } from './key-name.ts';
import { findNeeds, type Needs } from './needs.ts';
import type { Facts } from './overview-facts.ts';

interface Item {
  readonly id: string;
  /** A text, which ends with its one next step. */
  readonly link: ReactNode;
}
type Rule = (needs: Needs, t: Texts, format: Format) => readonly Item[];

/** What needs attention, the worst first. What is alike is one item. */
export function Attention({ facts }: { readonly facts: Facts }) {
  const t = useTexts();
  const format = useFormat();
  const needs = findNeeds(facts, Date.now());
  const items = RULES.flatMap((rule) => rule(needs, t, format));
  const isNew = facts.keys.length === 0 && facts.hooks.length === 0;
  if (items.length === 0 && isNew) return null;
  return (
    <section>
      <h2 className="health">
        {items.length === 0 ? t.overview.attention : t.overview.needs(items.length)}
      </h2>
      {items.length === 0 ? (
        <p className="notice good">{t.overview.allGood}</p>
      ) : (
        <ul className="attention">
          {items.map(({ id, link }) => (
            <li key={id}>{link}</li>
          ))}
        </ul>
      )}
      <p className="hint after">
        <Link to="/alerts">{t.overview.byMail}</Link>
      </p>
    </section>
  );
}

const pausedHooks: Rule = ({ hooks: { paused } }, t, format) =>
  hookItems('paused', paused, {
    text: t.overview.endpointsPaused(paused.length, fewHooks(paused, t, format)),
    next: t.overview.reactivate,
  });

const unstoredSecrets: Rule = ({ hooks: { unstored } }, t, format) =>
  hookItems('unstored', unstored, {
    text: t.overview.secretsUnstored(unstored.length, fewHooks(unstored, t, format)),
    next: t.overview.replaceThem,
  });

/** Leads to the endpoint if it is one, or else to all of them. */
function hookItems(
  id: string,
  hooks: Facts['hooks'],
  { text, next }: { text: string; next: string },
): Item[] {
  const [first] = hooks;
  if (!first) return [];
  const link =
    hooks.length === 1 ? (
      <Link to="/webhooks/$endpointId" params={{ endpointId: first.endpoint_id }}>
        {text} <Next>{next}</Next>
      </Link>
    ) : (
      <Link to="/webhooks">
        {text} <Next>{next}</Next>
      </Link>
    );
  return [{ id, link }];
}

const failedDeliveries: Rule = ({ hooks: { failing } }, t, format) => {
  if (failing.length === 0) return [];
  const failed = failing.reduce((sum, one) => sum + one.failed, 0);
  const hasMore = failing.some(({ has_more }) => has_more.includes('failed'));
  const amount = atLeast(failed, hasMore, t, format);
  const names = fewHooks(failing, t, format);
  const link = (
    <Link to="/deliveries" search={{ status: 'failed', past: '24h' }}>
      {t.overview.deliveriesFailed(failed, amount)} {t.overview.receivers(names)}{' '}
      <Next>{t.overview.lookAtThem}</Next>
    </Link>
  );
  return [{ id: 'failed', link }];
};

const backlog: Rule = ({ hooks: { slow } }, t, format) => {
  if (slow.length === 0) return [];
  const waiting = slow.reduce((sum, one) => sum + one.waiting, 0);
  const hasMore = slow.some(({ has_more }) => has_more.includes('waiting'));
  const names = fewHooks(slow, t, format);
  const link = (
    <Link to="/webhooks">
      {t.overview.waiting(atLeast(waiting, hasMore, t, format), names)}{' '}
      <Next>{t.overview.lookAtThem}</Next>
    </Link>
  );
  return [{ id: 'backlog', link }];
};

const failedRequests: Rule = ({ requests: { ours, errors, limited } }, t, format) => {
  const items: Item[] = [];
  if (ours > 0)
    items.push({
      id: 'ours',
      link: (
        <Link to="/requests" search={{ status: '5xx' }}>
          {t.overview.ourErrors(ours, format.number(ours))} <Next>{t.overview.lookAtThem}</Next>
        </Link>
      ),
    });
  if (errors !== null)
    items.push({
      id: 'errors',
      link: (
        <Link to="/requests" search={{ status: 'errors' }}>
          {t.overview.manyErrors(format.percent(errors))} <Next>{t.overview.lookAtThem}</Next>
        </Link>
      ),
    });
  if (limited !== null)
    items.push({
      id: 'limited',
      link: (
        <Link to="/usage">
          {t.overview.manyLimited(format.percent(limited))} <Next>{t.overview.lookAtUsage}</Next>
        </Link>
      ),
    });
  return items;
};

const crms: Rule = ({ crms: { failing, tokenless } }, t, format) => {
  const itemsOf = (
    some: Facts['crms'],
    { id, say, next }: { id: string; say: typeof t.overview.crmFailed; next: string },
  ): Item[] => {
    if (some.length === 0) return [];
    const names = some.map(({ provider }) => t.crm.providers[provider] ?? provider);
    const link = (
      <Link to="/crm">
        {say(some.length, few(names, t, format))} <Next>{next}</Next>
      </Link>
    );
    return [{ id, link }];
  };
  const { crmFailed, crmNoToken, lookAtWhy, enterToken } = t.overview;
  return [
    ...itemsOf(failing, { id: 'crm', say: crmFailed, next: lookAtWhy }),
    ...itemsOf(tokenless, { id: 'crmToken', say: crmNoToken, next: enterToken }),
  ];
};

const keysInNeed: Rule = ({ keys: { ending, unseen, unused } }, t, format) => {
  const namesOf = (some: Facts['keys']) =>
    few(
      some.map(({ name }) => nameOfKey(t, name)),
      t,
      format,
    );
  const item = (id: string, some: Facts['keys'], text: string, next: string): Item[] =>
    some.length === 0
      ? []
      : [
          {
            id,
            link: (
              <Link to="/keys">
                {text} <Next>{next}</Next>
              </Link>
            ),
          },
        ];
  const { keysEnd, keysUnseen, keysUnused, replaceThem, revokeThem } = t.overview;
  const soonest = format.ago(ending[0]?.expires_at ?? '1970-01-01');
  return [
    ...item('ending', ending, keysEnd(ending.length, namesOf(ending), soonest), replaceThem),
    ...item('unseen', unseen, keysUnseen(unseen.length, namesOf(unseen)), replaceThem),
    ...item('unused', unused, keysUnused(unused.length, namesOf(unused)), revokeThem),
  ];
};

const RULES: readonly Rule[] = [
  pausedHooks,
  failedDeliveries,
  backlog,
  failedRequests,
  crms,
  unstoredSecrets,
  keysInNeed,
];

function Next({ children }: { readonly children: string }) {
  return <span className="next">{children}</span>;
}

function fewHooks(hooks: Facts['hooks'], t: Texts, format: Format): string {
  return few(hooks.map(nameOfEndpoint), t, format);
}
