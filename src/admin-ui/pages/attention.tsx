import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Texts } from '../i18n/en.ts';
import { atLeast, useFormat, type Format } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { LIMITS } from '../lib/attention-limits.ts';
import { DAY_MS } from '../lib/days.ts';
import { isSecretUnstored } from '../lib/success.ts';
import { isTokenMissing } from './crm-state.ts';
import { nameOfEndpoint } from './endpoint-name.ts';
import { nameOfKey, wasNeverSeen } from './key-state.ts';
import { sumOf, type Facts } from './overview-facts.ts';

/** How many deliveries may wait. */
const BACKLOG = 100;
/** How long before its end a key is named, and after how long without a use. */
const SOON_MS = LIMITS.keyEndsWithinDays * DAY_MS;
const UNUSED_MS = 90 * DAY_MS;
const NAMED_MAX = 5;

interface Item {
  readonly id: string;
  /** A text, which ends with its one next step. */
  readonly link: ReactNode;
}
type Rule = (facts: Facts, t: Texts, format: Format) => readonly Item[];

/** What needs attention, the worst first. What is alike is one item. */
export function Attention({ facts }: { readonly facts: Facts }) {
  const t = useTexts();
  const format = useFormat();
  const items = RULES.flatMap((rule) => rule(facts, t, format));
  const isNew = facts.keys.length === 0 && facts.hooks.length === 0;
  if (items.length === 0 && isNew) return null;
  return (
    <section className="section">
      <h2>{t.overview.attention}</h2>
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

const pausedHooks: Rule = ({ hooks }, t, format) => {
  const paused = hooks.filter(({ status }) => status !== 'active');
  const [first] = paused;
  if (!first) return [];
  const names = few(paused.map(nameOfEndpoint), t, format);
  const text = t.overview.endpointsPaused(paused.length, names);
  const link =
    paused.length === 1 ? (
      <Link to="/webhooks/$endpointId" params={{ endpointId: first.endpoint_id }}>
        {text} <Next>{t.overview.reactivate}</Next>
      </Link>
    ) : (
      <Link to="/webhooks">
        {text} <Next>{t.overview.reactivate}</Next>
      </Link>
    );
  return [{ id: 'paused', link }];
};

const unstoredSecrets: Rule = ({ hooks }, t, format) => {
  const unstored = hooks.filter(isSecretUnstored);
  const [first] = unstored;
  if (!first) return [];
  const text = t.overview.secretsUnstored(
    unstored.length,
    few(unstored.map(nameOfEndpoint), t, format),
  );
  const link =
    unstored.length === 1 ? (
      <Link to="/webhooks/$endpointId" params={{ endpointId: first.endpoint_id }}>
        {text} <Next>{t.overview.replaceThem}</Next>
      </Link>
    ) : (
      <Link to="/webhooks">
        {text} <Next>{t.overview.replaceThem}</Next>
      </Link>
    );
  return [{ id: 'unstored', link }];
};

const failedDeliveries: Rule = ({ hooks }, t, format) => {
  const failing = hooks.filter(({ failed }) => failed > 0);
  if (failing.length === 0) return [];
  const failed = failing.reduce((sum, one) => sum + one.failed, 0);
  const hasMore = failing.some(({ has_more }) => has_more.includes('failed'));
  const amount = atLeast(failed, hasMore, t, format);
  const names = few(failing.map(nameOfEndpoint), t, format);
  const link = (
    <Link to="/deliveries" search={{ status: 'failed', past: '24h' }}>
      {t.overview.deliveriesFailed(failed, amount)} {t.overview.receivers(names)}{' '}
      <Next>{t.overview.lookAtThem}</Next>
    </Link>
  );
  return [{ id: 'failed', link }];
};

const backlog: Rule = ({ hooks }, t, format) => {
  const slow = hooks.filter(({ status, waiting }) => status === 'active' && waiting >= BACKLOG);
  if (slow.length === 0) return [];
  const waiting = slow.reduce((sum, one) => sum + one.waiting, 0);
  const hasMore = slow.some(({ has_more }) => has_more.includes('waiting'));
  const names = few(slow.map(nameOfEndpoint), t, format);
  const link = (
    <Link to="/webhooks">
      {t.overview.waiting(atLeast(waiting, hasMore, t, format), names)}{' '}
      <Next>{t.overview.lookAtThem}</Next>
    </Link>
  );
  return [{ id: 'backlog', link }];
};

const errors: Rule = ({ days }, t, format) => {
  const { total, good, limited, ours } = sumOf(days.slice(-7));
  const share = total === 0 ? 0 : (total - good) / total;
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
  if (total >= LIMITS.requestsMin && share > LIMITS.errorShare)
    items.push({
      id: 'errors',
      link: (
        <Link to="/requests" search={{ status: 'errors' }}>
          {t.overview.manyErrors(format.percent(share))} <Next>{t.overview.lookAtThem}</Next>
        </Link>
      ),
    });
  if (total >= LIMITS.requestsMin && limited / total > LIMITS.errorShare)
    items.push({
      id: 'limited',
      link: (
        <Link to="/usage">
          {t.overview.manyLimited(format.percent(limited / total))}{' '}
          <Next>{t.overview.lookAtUsage}</Next>
        </Link>
      ),
    });
  return items;
};

const crms: Rule = (facts, t, format) => {
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
  const tokenless = facts.crms.filter((one) => one.status === 'active' && isTokenMissing(one));
  const failing = facts.crms.filter((one) => one.last_error !== null && !isTokenMissing(one));
  return [
    ...itemsOf(failing, { id: 'crm', say: crmFailed, next: lookAtWhy }),
    ...itemsOf(tokenless, { id: 'crmToken', say: crmNoToken, next: enterToken }),
  ];
};

const keysInNeed: Rule = ({ keys }, t, format) => {
  const now = Date.now();
  const ending = keys
    .filter((key) => key.revoked_at === null && Date.parse(key.expires_at ?? '') < now + SOON_MS)
    .toSorted((a, b) => ((a.expires_at ?? '') < (b.expires_at ?? '') ? -1 : 1));
  const unseen = keys.filter(wasNeverSeen);
  const unused = keys.filter(
    (key) =>
      !unseen.includes(key) &&
      key.revoked_at === null &&
      Date.parse(key.last_used_at ?? key.created_at) < now - UNUSED_MS,
  );
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
  const soonest = format.ago(ending[0]?.expires_at ?? '1970-01-01');
  return [
    ...item(
      'ending',
      ending,
      t.overview.keysEnd(ending.length, namesOf(ending), soonest),
      t.overview.replaceThem,
    ),
    ...item(
      'unseen',
      unseen,
      t.overview.keysUnseen(unseen.length, namesOf(unseen)),
      t.overview.replaceThem,
    ),
    ...item(
      'unused',
      unused,
      t.overview.keysUnused(unused.length, namesOf(unused)),
      t.overview.revokeThem,
    ),
  ];
};

const RULES: readonly Rule[] = [
  pausedHooks,
  failedDeliveries,
  backlog,
  errors,
  crms,
  unstoredSecrets,
  keysInNeed,
];

function Next({ children }: { readonly children: string }) {
  return <span className="next">{children}</span>;
}

function few(names: readonly string[], t: Texts, format: Format): string {
  const rest = names.length - NAMED_MAX;
  return format.list([
    ...names.slice(0, NAMED_MAX),
    ...(rest > 0 ? [t.overview.others(rest)] : []),
  ]);
}
