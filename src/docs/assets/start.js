// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Runs before the page is painted, so that it appears at once with the theme and the language of
// samples that the reader chose last.
const page = document.documentElement;
page.classList.add('js');
page.dataset.lang = kept('docs-language') ?? 'curl';
page.dataset.theme = kept('docs-theme') ?? 'system';

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    // The browser keeps nothing for this site.
    return null;
  }
}
