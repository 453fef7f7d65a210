// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Sends the form of an operation to the service that served the page, and shows the response.
import { keyInUse, onKey } from './key.js';

const SHOWN_HEADERS = ['x-request-id', 'location', 'idempotency-replayed', 'retry-after'];

export function prepareTry(root) {
  const form = root.querySelector('form.try');
  form.addEventListener('submit', () => void send(form));
  showMode(form);
}

onKey(() => {
  for (const form of document.querySelectorAll('form.try')) showMode(form);
});

/** Says which team the key opens, before anything is sent. */
function showMode(form) {
  const [, mode = 'none'] = /^svck_(live|test)_/.exec(keyInUse()) ?? [];
  form.dataset.mode = mode;
  // Without the script, the browser would send the form itself, and lose the key.
  form.querySelector('button[type=submit]').disabled =
    mode === 'live' && 'testOnly' in form.dataset;
}

async function send(form) {
  const button = form.querySelector('button[type=submit]');
  const answer = form.querySelector('.answer');
  const body = form.elements.namedItem('body')?.value;
  const fault = body === undefined ? null : faultOf(body);
  if (fault !== null) {
    show(answer, { title: 'The body is not valid JSON', text: fault });
    return;
  }
  button.disabled = true;
  const startedAt = performance.now();
  try {
    const response = await fetch(addressOf(form), {
      method: form.dataset.method,
      headers: headersOf(form, body),
      body,
      cache: 'no-store',
    });
    const text = pretty(await response.text());
    const ms = Math.round(performance.now() - startedAt);
    const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name)).map(
      (name) => `${name}: ${response.headers.get(name)}`,
    );
    // HTTP/2 has no text of the status.
    const status = `${response.status} ${response.statusText}`.trim();
    const title = `${status}, ${ms} ms`;
    show(answer, { title, text: `${headers.join('\n')}\n\n${text}`, isGood: response.ok });
  } catch (error) {
    show(answer, { title: 'No response', text: String(error) });
  } finally {
    showMode(form);
  }
}

function addressOf(form) {
  const inputs = [...form.querySelectorAll('[data-place]')];
  let url = form.dataset.url;
  const query = new URLSearchParams();
  for (const { name, value, dataset } of inputs) {
    if (dataset.place === 'path') url = url.replace(`{${name}}`, encodeURIComponent(value.trim()));
    else if (value.trim() !== '') query.set(name, value.trim());
  }
  return query.size === 0 ? url : `${url}?${query}`;
}

function headersOf(form, body) {
  return {
    Authorization: `Bearer ${keyInUse()}`,
    'Accept-Language': 'en',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...('idempotent' in form.dataset ? { 'Idempotency-Key': randomKey() } : {}),
  };
}

/** `crypto.randomUUID` exists only on https and on localhost. */
function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function faultOf(json) {
  try {
    JSON.parse(json);
    return null;
  } catch (error) {
    return error.message;
  }
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function show(answer, { title, text, isGood = false }) {
  const heading = document.createElement('p');
  heading.className = isGood ? 'good' : 'bad';
  heading.textContent = title;
  const pre = document.createElement('pre');
  pre.tabIndex = 0;
  pre.textContent = text;
  answer.replaceChildren(heading, pre);
}
