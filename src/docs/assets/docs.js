// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// What the pages do beyond being read: language tabs, buttons that copy, the reader's key in
// samples, the theme, and search. All of it is loaded after the page, and no page needs it to be
// read.
import { watchContents } from './contents.js';
import { holdKey, keyInUse, onKey } from './key.js';
import { start as startSoftNavigation } from './soft-navigation.js';
import { start as startTheme } from './theme.js';
import { prepareTry } from './try.js';
import { words } from './words.js';

/** Gives the samples of a page, or of a part that has been loaded later, their functions. */
export function prepare(root) {
  for (const group of root.querySelectorAll('.samples')) makeTabs(group);
  for (const pre of root.querySelectorAll('figure.code pre')) addCopyButton(pre);
  for (const button of root.querySelectorAll('.copy-page'))
    button.addEventListener('click', () => void copyPage(button));
  for (const form of root.querySelectorAll('[data-key-form]')) prepareKeyForm(form);
  showKey(root);
  showCurrent(root.querySelector('#menu'));
  watchContents(root);
  if (root.querySelector('form.try')) prepareTry(root);
  for (const button of root.querySelectorAll('.theme')) startTheme(button);
  for (const input of root.querySelectorAll('#search')) prepareSearch(input);
}

/** Scrolls to the page's entry. With `scrollIntoView`, Chrome's next press of Tab begins there. */
function showCurrent(menu) {
  const current = menu?.querySelector('[aria-current]');
  if (!current) return;
  const [all, one] = [menu, current].map((element) => element.getBoundingClientRect());
  menu.scrollTop += Math.max(0, one.bottom - all.bottom) + Math.min(0, one.top - all.top);
}

// Language tabs. Which language is shown is the state of the whole page: `data-lang` of <html>.

function makeTabs(group) {
  const list = group.querySelector('.tabs');
  const tabs = [...list.querySelectorAll('button')];
  list.setAttribute('role', 'tablist');
  for (const tab of tabs) {
    const panel = group.querySelector(`.sample[data-language="${tab.dataset.language}"]`);
    tab.setAttribute('role', 'tab');
    tab.id = uniqueId('tab');
    panel.id = uniqueId('panel');
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    tab.setAttribute('aria-controls', panel.id);
    tab.addEventListener('click', () => chooseLanguage(tab.dataset.language, tab));
  }
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    chooseLanguage(next.dataset.language, next);
    next.focus();
  });
  markTabs(group);
}

/** The group that the reader touches stays in its place, although those above change height. */
function chooseLanguage(language, tab) {
  const before = tab.getBoundingClientRect().top;
  document.documentElement.dataset.lang = language;
  try {
    localStorage.setItem('docs-language', language);
  } catch {
    // The browser keeps nothing for this site. The choice holds for this page.
  }
  for (const group of document.querySelectorAll('.samples')) markTabs(group);
  scrollBy(0, tab.getBoundingClientRect().top - before);
}

function markTabs(group) {
  const tabs = [...group.querySelectorAll('[role=tab]')];
  const chosen =
    tabs.find(({ dataset }) => dataset.language === document.documentElement.dataset.lang) ??
    tabs[0];
  for (const tab of tabs) {
    tab.setAttribute('aria-selected', String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
}

let ids = 0;
function uniqueId(kind) {
  ids += 1;
  return `${kind}-${ids}`;
}

// Buttons that copy.

const COPY = 'M7.5 7.5h9v9h-9zM12.5 7.5v-4h-9v9h4';
const COPIED = 'm4.5 10.5 4 4 7-9';
const NOT_ALLOWED = 'M5 5l10 10M15 5 5 15';

function addCopyButton(pre) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  const icon = svgElement('svg', { viewBox: '0 0 20 20', 'aria-hidden': 'true' });
  icon.append(svgElement('path', {}));
  button.append(icon);
  button.addEventListener('click', () => void copy(pre.textContent, button));
  showState(button, words().copy, COPY);
  pre.after(button);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    showState(button, words().copied, COPIED);
  } catch {
    // Only a page over https or on localhost may write to the clipboard.
    showState(button, words().notAllowed, NOT_ALLOWED);
  }
  setTimeout(() => showState(button, words().copy, COPY), 1500);
}

/** Browsers allow it without a wait only for a text that is promised while the reader clicks. */
async function copyPage(button) {
  const label = button.textContent;
  const load = async () => (await fetch(button.dataset.copy)).blob();
  try {
    const text = load().then((blob) => new Blob([blob], { type: 'text/plain' }));
    await navigator.clipboard.write([new ClipboardItem({ 'text/plain': text })]);
    button.textContent = button.dataset.done;
  } catch {
    // Only a page over https or on localhost may write to the clipboard: the Markdown is shown.
    location.assign(button.dataset.copy);
  }
  setTimeout(() => (button.textContent = label), 1500);
}

function showState(button, name, path) {
  button.setAttribute('aria-label', name);
  button.title = name;
  button.querySelector('path').setAttribute('d', path);
}

function svgElement(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// The reader's key.

function prepareKeyForm(form) {
  form.addEventListener('submit', (event) => event.preventDefault());
  for (const input of form.querySelectorAll('[data-key-input]')) {
    input.value = keyInUse();
    input.addEventListener('input', () => holdKey(input.value.trim()));
  }
}

function showKey(root) {
  const key = keyInUse();
  for (const place of root.querySelectorAll('[data-key]'))
    place.textContent = key || 'YOUR_API_KEY';
  showIds(root, key.startsWith('svck_test_'));
}

/** The ids of the examples are those of a sandbox for a test key. What was typed stays. */
function showIds(root, isTest) {
  for (const place of root.querySelectorAll('[data-test]')) {
    const property = 'value' in place ? 'value' : 'textContent';
    const { dataset } = place;
    dataset.live ??= place[property];
    if ([dataset.live, dataset.test].includes(place[property]))
      place[property] = isTest ? dataset.test : dataset.live;
  }
}

onKey((key) => {
  showKey(document);
  for (const input of document.querySelectorAll('[data-key-input]'))
    if (input.value.trim() !== key) input.value = key;
  // A page that is loaded anew would forget the key.
  if (key) startSoftNavigation(prepare);
});

// Search.

function prepareSearch(input) {
  // Once: each load makes a list of its own.
  if (document.activeElement === input) loadSearch(input);
  else input.addEventListener('focus', () => loadSearch(input), { once: true });
}

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select, [contenteditable]');
  const isSlash = event.key === '/' && !isTyping;
  const isPalette = event.key === 'k' && (event.ctrlKey || event.metaKey);
  if (!isSlash && !isPalette) return;
  event.preventDefault();
  const input = document.getElementById('search');
  input.focus();
  input.select();
});

function loadSearch(input) {
  void import('./search-box.js').then(({ start }) => start(input));
}

prepare(document);
