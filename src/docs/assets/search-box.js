// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Results below the search field while the reader types: a combobox with a list. Without it, the
// form leads to a page of results.
import { createSearch, excerpt } from './search.js';
import { words } from './words.js';

const LIMIT = 8;

export async function start(input) {
  const list = document.createElement('ul');
  list.id = 'search-results';
  list.className = 'search-results';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', words().results);
  list.hidden = true;
  input.after(list);
  input.setAttribute('role', 'combobox');
  input.setAttribute('aria-autocomplete', 'list');
  input.setAttribute('aria-controls', list.id);
  input.setAttribute('aria-expanded', 'false');
  const response = await fetch(input.dataset.index);
  if (!response.ok) return;
  const { base, entries } = await response.json();
  const search = await createSearch(entries);

  let chosen = -1;
  const update = () => {
    const results = search(input.value, LIMIT);
    list.replaceChildren(...results.map((entry) => option(base, entry)));
    if (results.length === 0 && input.value.trim() !== '') list.append(nothing());
    choose(-1);
    show(input.value.trim() !== '');
  };
  const show = (isOpen) => {
    list.hidden = !isOpen;
    input.setAttribute('aria-expanded', String(isOpen));
  };
  const choose = (position) => {
    chosen = position;
    const options = [...list.querySelectorAll('a')];
    for (const [index, one] of options.entries())
      one.setAttribute('aria-selected', String(index === position));
    options[position]?.scrollIntoView({ block: 'nearest' });
    if (position < 0) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', options[position].id);
  };

  input.addEventListener('input', update);
  input.addEventListener('keydown', (event) => {
    const options = [...list.querySelectorAll('a')];
    if (event.key === 'Escape') show(false);
    else if (event.key === 'Enter' && chosen >= 0) options[chosen].click();
    else if (event.key === 'ArrowDown' && options.length > 0) choose((chosen + 1) % options.length);
    else if (event.key === 'ArrowUp' && options.length > 0)
      choose((chosen - 1 + options.length) % options.length);
    else return;
    if (event.key !== 'Escape') event.preventDefault();
  });
  // A click on a result must come before the list is gone.
  input.addEventListener('blur', () => setTimeout(() => show(false), 150));
  list.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('click', () => show(false));
  if (input.value !== '') update();
}

function option(base, entry) {
  const item = document.createElement('li');
  item.setAttribute('role', 'presentation');
  const link = document.createElement('a');
  link.id = `search-result-${entry.path.replaceAll(/\W+/g, '-')}`;
  link.setAttribute('role', 'option');
  link.href = base + entry.path;
  link.tabIndex = -1;
  const title = document.createElement('strong');
  title.textContent = entry.section === '' ? entry.title : `${entry.title} › ${entry.section}`;
  const text = document.createElement('span');
  text.textContent = excerpt(entry);
  link.append(title, text);
  item.append(link);
  return item;
}

function nothing() {
  const item = document.createElement('li');
  item.className = 'nothing';
  item.setAttribute('role', 'option');
  item.setAttribute('aria-disabled', 'true');
  item.textContent = words().nothing;
  return item;
}
