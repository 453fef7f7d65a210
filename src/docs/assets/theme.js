// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// The button that chooses the theme. The choice is `data-theme` of <html>: start.js sets it before
// the page is painted, and the stylesheet does the rest.
const THEMES = ['system', 'light', 'dark'];

export function start(button) {
  const { documentElement: page } = document;
  const name = () => {
    const label = `${button.dataset.label}: ${button.dataset[page.dataset.theme]}`;
    button.setAttribute('aria-label', label);
    button.title = label;
  };
  button.addEventListener('click', () => {
    const next = THEMES[(THEMES.indexOf(page.dataset.theme) + 1) % THEMES.length];
    page.dataset.theme = next;
    try {
      localStorage.setItem('docs-theme', next);
    } catch {
      // The browser keeps nothing for this site. The choice holds for this page.
    }
    name();
  });
  name();
}
