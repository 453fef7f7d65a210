import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useRef, useState, type KeyboardEvent } from 'react';
import type { Texts } from '../i18n/en.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { askFor, DEEDS } from '../lib/deeds.ts';
import { showFinder } from '../lib/finder.ts';
import { holdsSecret } from '../lib/ids.ts';
import { rowsKnown, whileUnknown } from '../lib/queries.ts';
import { useSettled } from '../lib/settled.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FailedReads } from '../ui/failed-reads.tsx';
import { nameOfEndpoint } from './endpoint-name.ts';
import {
  deedsFor,
  endpointsFor,
  keysFor,
  pagesFor,
  placeAfterKey,
  searchesMembers,
  SHOWN,
  targetsIn,
} from './finder-matches.ts';
import { nameOfKey } from './key-name.ts';
import { useKeys } from './key-queries.ts';
import { nameOf } from './member-name.ts';
import { membersFound, NOBODY_YET } from './members-found.ts';

/** How long after the last key members are searched for. What is here is found at each key. */
const SETTLED_MS = 150;

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
  const list = useRef<HTMLUListElement>(null);
  const [text, setText] = useState('');
  const [current, setCurrent] = useState(0);
  const wanted = text.trim();
  const settled = useSettled(wanted, SETTLED_MS);
  const found = useFound(wanted, settled);
  const close = () => showFinder(false);
  const choose = (one: Found | undefined) => {
    if (!one) return;
    close();
    void one.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') choose(found[current]);
    const next = placeAfterKey(event.key, current, found.length);
    if (next === null) return;
    event.preventDefault();
    setCurrent(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
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
      <FailedReads />
      <ul ref={list} className="found" id={listId} role="listbox" aria-label={t.finder.found}>
        {found.map((one, place) => (
          <li
            key={one.id}
            id={`${listId}-${place}`}
            role="option"
            aria-selected={place === current}
            // Not as it comes under a mouse that rests: the arrow keys have scrolled the list. Some
            // browsers say that such a mouse has moved, by nothing.
            onMouseMove={({ movementX, movementY }) => {
              if (movementX !== 0 || movementY !== 0) setCurrent(place);
            }}
            onClick={() => choose(one)}
          >
            <span>{one.text}</span> <small className="soft">{one.kind}</small>
          </li>
        ))}
      </ul>
      <p className="hint" role="status">
        {holdsSecret(text)
          ? t.finder.secret
          : wanted !== '' && wanted === settled && found.length === 0
            ? t.common.nothingMatches
            : t.finder.hint}
      </p>
    </Dialog>
  );
}

type Go = ReturnType<typeof useNavigate>;

/**
 * Everything that fits the text, as far as it was read. Without a text: the pages. Members are
 * those of the text that has settled, and of no other: Enter must not open one of a text before.
 */
function useFound(wanted: string, settled: string): readonly Found[] {
  const t = useTexts();
  const go = useNavigate();
  const isSearched = wanted === settled && searchesMembers(settled);
  const { known } = useKeys();
  const hooks = useQuery(api.v1.webhooks.listEndpoints.queryOptions({}));
  const people = useQuery({ ...membersFound(settled, SHOWN), enabled: isSearched });
  const pages = pagesFor(wanted, t).map(({ to, name }) => ({
    id: to,
    kind: t.finder.page,
    text: t.nav[name],
    go: () => go({ to }),
  }));
  if (wanted === '') return pages;
  return [
    ...targetsOf(wanted, t, go),
    ...deedsFor(wanted, t).map((deed) => ({
      id: deed,
      kind: t.finder.deed,
      text: t.deeds[deed].name,
      go: () => {
        const { to, ...rest } = DEEDS[deed];
        askFor(deed);
        return go({ to, search: 'search' in rest ? rest.search : {} });
      },
    })),
    ...pages,
    ...keysFor(wanted, known).map(({ id, name }) => ({
      id,
      kind: t.finder.key,
      text: nameOfKey(t, name),
      go: () => go({ to: '/requests', search: { key: id } }),
    })),
    ...endpointsFor(wanted, rowsKnown(hooks)).map((hook) => ({
      id: hook.id,
      kind: t.finder.webhook,
      text: nameOfEndpoint(hook),
      go: () => go({ to: '/webhooks/$endpointId', params: { endpointId: hook.id } }),
    })),
    ...(isSearched && !people.isPlaceholderData
      ? whileUnknown(people, NOBODY_YET).data.slice(0, SHOWN)
      : []
    ).map((member) => ({
      id: member.id,
      kind: t.finder.member,
      text: nameOf(member),
      go: () => go({ to: '/members/$memberId', params: { memberId: member.id } }),
    })),
  ];
}

/** What a pasted id stands for, with the page that shows it. */
function targetsOf(wanted: string, t: Texts, go: Go): readonly Found[] {
  const pages = {
    request: (requestId: string) => go({ to: '/requests/$requestId', params: { requestId } }),
    delivery: (deliveryId: string) => go({ to: '/deliveries/$deliveryId', params: { deliveryId } }),
    history: (target: string) => go({ to: '/audit', search: { target } }),
    person: (memberId: string) => go({ to: '/members/$memberId', params: { memberId } }),
  };
  return targetsIn(wanted).map(({ kind, id }) => ({
    id: `${kind} ${id}`,
    kind: t.finder[kind],
    text: id,
    go: () => pages[kind](id),
  }));
}
