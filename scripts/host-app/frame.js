// How a page of the host application shows the admin page in a frame.
const frame = document.querySelector('iframe');
const appearance = document.querySelector('select');
const service = new URL(frame.dataset.service);
let port = null;

addEventListener('message', (event) => {
  // Other frames and other origins must not get a token.
  if (event.source !== frame.contentWindow || event.origin !== service.origin) return;
  if (event.data?.type !== 'svc:ready') return;
  const channel = new MessageChannel();
  port = channel.port1;
  port.addEventListener('message', ({ data }) => void receive(data));
  port.start();
  frame.contentWindow.postMessage({ type: 'svc:port' }, service.origin, [channel.port2]);
});

async function receive(message) {
  if (message.type === 'svc:token-wanted') {
    const response = await fetch('/settings', { method: 'POST' });
    port.postMessage({ type: 'svc:settings', ...(await response.json()) });
  }
  // So that a reload of the host application, or a new sign-in, comes back to the same place.
  if (message.type === 'svc:place') history.replaceState(null, '', `#${message.path}`);
  // For the host application's developers: colours that nobody could read were not taken.
  if (message.type === 'svc:colors') console.info('colours', JSON.stringify(message.changes));
}

appearance.addEventListener('change', () => {
  port?.postMessage({ type: 'svc:settings', theme: appearance.value });
});

// Only now: the page says `svc:ready` once, as soon as it has loaded.
frame.src = `${service.href.replace(/\/$/, '')}/admin${location.hash.slice(1)}`;
