// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Runs before the page is painted, so that samples appear at once in the language chosen last.
document.documentElement.classList.add('js');
try {
  document.documentElement.dataset.lang = localStorage.getItem('docs-language') ?? 'curl';
} catch {
  // The browser keeps nothing for this site.
  document.documentElement.dataset.lang = 'curl';
}
