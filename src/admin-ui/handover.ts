/**
 * The page that opens a link. Nothing is asked before the reader clicks: mail scanners and previews
 * open links, too. The part of the link after `#` stays here; the service gets the opener.
 */
import './style.css';
import { failureOf, openerAddress, testNotesOf } from './handover-rules.ts';
import { canSeal, openerOf, readFragment, unseal, type Content } from './lib/sealing.ts';

type State = 'ask' | 'shown' | 'gone' | 'broken' | 'failed' | 'busy' | 'unable';

let isOpening = false;
let isCopied = true;

function show(state: State): void {
  for (const section of document.querySelectorAll<HTMLElement>('[data-state]'))
    section.hidden = section.dataset['state'] !== state;
}

/** Shows the state and reads it out. */
function turnTo(state: State): void {
  show(state);
  document.querySelector<HTMLElement>(`[data-state="${state}"] h1`)?.focus();
}

async function open(): Promise<void> {
  const link = readFragment(location.hash);
  if (!link) {
    turnTo('broken');
    return;
  }
  const answer = await ask(link).catch(() => 'failed' as const);
  if (typeof answer === 'string') {
    turnTo(answer);
    return;
  }
  const content = await unseal(link.secret, answer.sealed).catch(() => null);
  if (content) present(content, link.teamId);
  else turnTo('gone');
}

/** Rejects if nobody knows whether the service has answered. */
async function ask({
  teamId,
  secret,
}: {
  readonly teamId: string;
  readonly secret: string;
}): Promise<{ readonly sealed: string } | 'gone' | 'busy' | 'failed'> {
  const address = openerAddress(location.pathname);
  const response = await fetch(address, {
    method: 'POST',
    body: new URLSearchParams({ team_id: teamId, opener: await openerOf(secret) }),
    credentials: 'omit',
  });
  if (response.ok) return (await response.json()) as { readonly sealed: string };
  return failureOf(response.status);
}

function present(content: Content, teamId: string): void {
  const { secret, name } = content;
  const { kind, testKey, testEndpoint } = testNotesOf(content, teamId);
  // The link opens nothing any more. Nobody needs it in the history.
  history.replaceState(null, '', location.pathname);
  text('name', name);
  text('secret', secret);
  for (const part of document.querySelectorAll<HTMLElement>('[data-of]'))
    part.hidden = part.dataset['of'] !== kind;
  note('[data-test-key]', testKey);
  note('[data-test-endpoint]', testEndpoint);
  isCopied = false;
  turnTo('shown');
}

function note(selector: string, isShown: boolean): void {
  for (const one of document.querySelectorAll<HTMLElement>(selector)) one.hidden = !isShown;
}

function text(id: string, value: string): void {
  const element = document.getElementById(id);
  if (element) element.textContent = value;
}

async function copy(): Promise<void> {
  const secret = document.getElementById('secret')?.textContent ?? '';
  const written = navigator.clipboard?.writeText(secret) ?? Promise.reject(new Error('none'));
  isCopied = await written.then(
    () => true,
    () => false,
  );
  for (const line of document.querySelectorAll<HTMLElement>('[data-copy]'))
    line.hidden = (line.dataset['copy'] === 'copied') !== isCopied;
}

function begin(): void {
  if (!canSeal()) show('unable');
  else show(readFragment(location.hash) ? 'ask' : 'broken');
}

for (const button of document.querySelectorAll('[data-open]'))
  button.addEventListener('click', () => {
    if (isOpening) return;
    isOpening = true;
    void open().finally(() => {
      isOpening = false;
    });
  });
document.getElementById('copy')?.addEventListener('click', () => void copy());
// Another link was pasted into the address bar.
window.addEventListener('hashchange', () => {
  if (isCopied) begin();
  // The browser asks first.
  else location.reload();
});
window.addEventListener('beforeunload', (event) => {
  // The secret would be lost with the page.
  if (!isCopied) event.preventDefault();
});
begin();
