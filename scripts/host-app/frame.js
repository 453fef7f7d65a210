// How a page of the host application shows the admin page in a frame.
import { showAdminPage } from './admin-frame.js';

const frame = document.querySelector('iframe');
const log = (name) => (value) => console.info(name, JSON.stringify(value));

const admin = showAdminPage(frame, {
  serviceUrl: frame.dataset.service,
  path: location.hash.slice(1),
  settings: async () => (await fetch('/settings', { method: 'POST' })).json(),
  // So that a reload, or a new sign-in, comes back to the same place.
  onPlace: (path) => history.replaceState(null, '', `#${path}`),
  onHeight: (height) => {
    frame.height = height;
  },
  onEvent: log('event'),
  onProblem: log('problem'),
});

// To try it in the console of the browser.
globalThis.admin = admin;

document.querySelector('select').addEventListener('change', ({ target }) => {
  admin.set({ theme: target.value });
});
for (const button of document.querySelectorAll('button'))
  button.addEventListener('click', () => admin.go(button.value));
