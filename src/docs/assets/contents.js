// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// Marks in the table of contents what the reader sees: the last heading above the middle of the
// upper half of the window.

let watched = null;

export function watchContents(root) {
  const links = [...root.querySelectorAll('.toc a')];
  const places = links.map(({ hash }) =>
    document.getElementById(decodeURIComponent(hash.slice(1))),
  );
  watched?.disconnect();
  if (links.length === 0) return;
  const mark = () => {
    const line = innerHeight / 4;
    const last = places.findLastIndex((place) => place.getBoundingClientRect().top < line);
    for (const [index, link] of links.entries())
      if (index === Math.max(0, last)) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
  };
  // It reports when a heading crosses the line, so nothing runs while others are scrolled.
  watched = new IntersectionObserver(mark, { rootMargin: '0px 0px -75% 0px' });
  for (const place of places) watched.observe(place);
}
