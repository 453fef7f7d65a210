// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// While the reader's key is held, links among these pages exchange the content instead of loading
// a page, because a new page would forget the key. Everything else works as always.

let isStarted = false;
/** The page that is shown. */
let shown = '';
/** The load of the last visit. The next one ends it, so that no page comes after a later one. */
let request = new XMLHttpRequest();

/** `prepare` gives the new content its functions. */
export function start(prepare) {
  if (isStarted) return;
  isStarted = true;
  shown = pageOf(location);
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href]');
    if (!link || !isOurs(event, link)) return;
    event.preventDefault();
    void visit(link.href, prepare).then((isDone) => {
      if (isDone) history.pushState(null, '', link.href);
      else location.assign(link.href);
      if (isDone) arrive(link.hash);
    });
  });
  addEventListener('popstate', () => {
    request.abort();
    // Within the page: what was typed and answered stays.
    if (pageOf(location) === shown) return;
    void visit(location.href, prepare).then((isDone) => {
      if (isDone) arrive(location.hash);
      else location.reload();
    });
  });
}

function isOurs(event, link) {
  const isPlain =
    event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  const isPage = link.origin === location.origin && /\/docs(\/[\w/-]+)?$/.test(link.pathname);
  const isElsewhere = link.pathname !== location.pathname;
  return isPlain && isPage && isElsewhere && !event.defaultPrevented;
}

function pageOf({ pathname, search }) {
  return pathname + search;
}

/** Resolves with whether the page has been exchanged; never if a later visit has ended this one. */
async function visit(address, prepare) {
  const loaded = await load(address);
  if (!loaded?.querySelector('.frame')) return false;
  shown = pageOf(new URL(address));
  const page = document.documentElement;
  // In another language, what is around the content is another, too.
  const first = loaded.documentElement.lang === page.lang ? '.language' : '.bar';
  page.lang = loaded.documentElement.lang;
  document.title = loaded.title;
  for (const part of [first, '.frame']) {
    document.querySelector(part).replaceWith(document.adoptNode(loaded.querySelector(part)));
    prepare(document.querySelector(part));
  }
  return true;
}

/** XMLHttpRequest parses a document without a sink that Trusted Types refuse. */
function load(address) {
  request.abort();
  request = new XMLHttpRequest();
  return new Promise((resolve) => {
    request.responseType = 'document';
    request.addEventListener('load', () =>
      resolve(request.status === 200 ? request.response : null),
    );
    request.addEventListener('error', () => resolve(null));
    request.open('GET', address);
    request.send();
  });
}

/** Readers of the screen hear the new title; the keyboard goes on from the new content. */
function arrive(hash) {
  const target = hash && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (target) target.scrollIntoView();
  else scrollTo(0, 0);
  document.getElementById('content').focus({ preventScroll: true });
}
