import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useId, useState, type KeyboardEvent } from 'react';
import type { Texts } from '../i18n/en.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { showFinder } from '../lib/finder.ts';
import { holdsSecret, idIn, requestIdIn } from '../lib/ids.ts';
import { NAVIGATION, type Page } from '../lib/navigation.ts';
import { Dialog } from '../ui/dialog.tsx';
import { nameOfEndpoint } from './endpoint-name.ts';
import { nameOfKey } from './key-name.ts';
import { nameOf } from './member-name.ts';

const SHOWN = 5;
/** Fewer letters find nearly everybody. */
const LETTERS_MIN = 2;

interface Found {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
  readonly go: () => unknown;
}

/** Searches pages, keys, endpoints and members, and opens what a pasted id stands for. */
export function Finder() {
  const t = useTexts();
  const listId = useId();
  const [text, setText] = useState('');
  const [current, setCurrent] = useState(0);
  const wanted = useDeferredValue(text.trim());
  const found = useFound(wanted);
  const close = () => showFinder(false);
  const choose = (one: Found | undefined) => {
    if (!one) return;
    close();
    void one.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: current + 1, ArrowUp: current - 1 };
    const next = steps[event.key];
    if (event.key === 'Enter') choose(found[current]);
    if (next === undefined || found.length === 0) return;
    event.preventDefault();
    setCurrent((next + found.length) % found.length);
  };
  return (
    <Dialog title={t.finder.title} onClose={close}>
      <input
        role="combobox"
        aria-label={t.finder.label}
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-activedescendant={found[current] && `${listId}-${current}`}
        aria-autocomplete="list"
        placeholder={t.finder.placeholder}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setCurrent(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul className="found" id={listId} role="listbox" aria-label={t.finder.found}>
        {found.map((one, place) => (
          <li
            key={one.id}
            id={`${listId}-${place}`}
            role="option"
            aria-selected={place === current}
            onMouseEnter={() => setCurrent(place)}
            onClick={() => choose(one)}
          >
            <span>{one.text}</span> <small className="soft">{one.kind}</small>
          </li>
        ))}
      </ul>
      <p className="hint" role="status">
        {holdsSecret(text)
          ? t.finder.secret
          : wanted !== '' && found.length === 0
            ? t.common.nothingMatches
            : t.finder.hint}
      </p>
    </Dialog>
  );
}

type Go = ReturnType<typeof useNavigate>;

/** Everything that fits the text, as far as it was read. Without a text: the pages. */
function useFound(wanted: string): readonly Found[] {
  const t = useTexts();
  const go = useNavigate();
  const isSecret = holdsSecret(wanted);
  const isSearched = wanted.length >= LETTERS_MIN && !isSecret && requestIdIn(wanted) === null;
  const keys = useQuery(api.admin.apiKeys.list.queryOptions({ limit: 200 }));
  const hooks = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const people = useQuery({
    ...api.admin.members.search.queryOptions({ text: wanted, limit: SHOWN }),
    enabled: isSearched,
    placeholderData: keepPreviousData,
  });
  const small = wanted.toLowerCase();
  const matches = (...texts: readonly (string | null)[]) =>
    texts.some((one) => one?.toLowerCase().includes(small));
  const foundKeys = (keys.data?.data ?? [])
    .filter(({ id, name, prefix }) => wanted.includes(prefix) || (!isSecret && matches(name, id)))
    .slice(0, SHOWN);
  const foundHooks = (hooks.data?.data ?? [])
    .filter(({ id, url, description }) => matches(id, url, description))
    .slice(0, SHOWN);
  const pages = NAVIGATION.flatMap((group): readonly Page[] => group.pages)
    .filter(({ name }) => matches(t.nav[name]))
    .map(({ to, name }) => ({
      id: to,
      kind: t.finder.page,
      text: t.nav[name],
      go: () => go({ to }),
    }));
  if (wanted === '') return pages;
  return [
    ...(isSecret ? [] : targetsOf(wanted, t, go)),
    ...pages,
    ...foundKeys.map(({ id, name }) => ({
      id,
      kind: t.finder.key,
      text: nameOfKey(t, name),
      go: () => go({ to: '/requests', search: { key: id } }),
    })),
    ...foundHooks.map((hook) => ({
      id: hook.id,
      kind: t.finder.webhook,
      text: nameOfEndpoint(hook),
      go: () => go({ to: '/webhooks/$endpointId', params: { endpointId: hook.id } }),
    })),
    ...(isSearched ? (people.data?.data ?? []) : []).map((member) => ({
      id: member.id,
      kind: t.finder.member,
      text: nameOf(member),
      go: () => go({ to: '/members', search: { text: member.email ?? member.id } }),
    })),
  ];
}

/** What a pasted id stands for. Keys, endpoints and members are found by theirs anyway. */
function targetsOf(text: string, t: Texts, go: Go): readonly Found[] {
  const requestId = requestIdIn(text);
  if (requestId !== null)
    return [
      {
        id: requestId,
        kind: t.finder.request,
        text: requestId,
        go: () => go({ to: '/requests/$requestId', params: { requestId } }),
      },
    ];
  const found = idIn(text);
  if (found === null) return [];
  const { kind, id } = found;
  const history = {
    id: `audit ${id}`,
    kind: t.finder.history,
    text: id,
    go: () => go({ to: '/audit', search: { target: id } }),
  };
  if (kind !== 'whd') return [history];
  const delivery = {
    id,
    kind: t.finder.delivery,
    text: id,
    go: () => go({ to: '/deliveries/$deliveryId', params: { deliveryId: id } }),
  };
  return [delivery, history];
}
