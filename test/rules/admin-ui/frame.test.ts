// Who may speak with whom, where the page is in a frame: a token goes to nobody else.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type * as HostPort from '../../../src/admin-ui/lib/host-port.ts';
import type * as AdminFrame from '../../../src/client/admin-frame.ts';
import { nextTurn } from '../../support/turns.ts';
import {
  findMeta,
  HOST,
  loadAnew,
  makeWindow,
  messageOf,
  openDocument,
  OTHER_HOST,
  SERVICE,
} from './browser-doubles.ts';

/** Waits until the messages that are on their way over a port have come, by one or two turns. */
async function arrived(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
}

function makePort() {
  const { port1, port2 } = new MessageChannel();
  const heard: unknown[] = [];
  port1.addEventListener('message', ({ data }) => void heard.push(data));
  port1.start();
  onTestFinished(() => port1.close());
  return { port1, port2, heard };
}

const ELSEWHERE = 'https://evil.example.com';

describe('the page', () => {
  async function openPage() {
    const parent = makeWindow();
    const window = Object.assign(makeWindow(), { parent });
    openDocument({ window, document: { querySelector: findMeta } });
    const page = await loadAnew<typeof HostPort>('admin-ui/lib/host-port.ts');
    const token = vi.fn<(token: string) => void>();
    const ignore = () => undefined;
    page.connectToHost({
      token,
      theme: ignore,
      language: ignore,
      colors: () => [],
      go: ignore,
      silence: ignore,
    });
    const other = makeWindow();
    const hear = async (given: object) => {
      const { port1, port2, heard } = makePort();
      const data = { type: 'svc:port' };
      const message = { data, source: parent as unknown, origin: HOST, ports: [port2], ...given };
      window.dispatchEvent(messageOf(message));
      port1.postMessage({ type: 'svc:settings', token: 'of the parent' });
      await arrived();
      port2.close();
      return heard;
    };
    return { window, parent, other, token, hear };
  }

  test('takes a port of its parent, which has a configured origin', async () => {
    const { token, hear } = await openPage();
    expect(await hear({})).toContainEqual({ type: 'svc:token-wanted' });
    expect(token).toHaveBeenCalledExactlyOnceWith('of the parent');
  });

  test.each<[string, (other: unknown) => object]>([
    ['of another origin', () => ({ origin: ELSEWHERE })],
    ['of its own origin', () => ({ origin: SERVICE })],
    ['of another window', (other) => ({ source: other })],
    ['with another message', () => ({ data: { type: 'svc:settings' } })],
    ['without a message', () => ({ data: null })],
  ])('takes no port %s', async (_, given) => {
    const { other, token, hear } = await openPage();
    expect(await hear(given(other))).toEqual([]);
    expect(token).not.toHaveBeenCalled();
  });

  test('takes one of each host application', async () => {
    const { hear } = await openPage();
    expect(await hear({ origin: OTHER_HOST })).toContainEqual({ type: 'svc:token-wanted' });
  });

  test.each([
    [false, [{ type: 'svc:gone' }]],
    [true, []],
  ])('says that its document is left, if it is not kept: %s', async (persisted, said) => {
    const { window, parent } = await openPage();
    const { port1, port2, heard } = makePort();
    const data = { type: 'svc:port' };
    window.dispatchEvent(messageOf({ data, source: parent, origin: HOST, ports: [port2] }));
    await arrived();
    heard.length = 0;
    window.dispatchEvent(Object.assign(new Event('pagehide'), { persisted }));
    await arrived();
    port1.close();
    expect(heard).toEqual(said);
  });

  test('says that it is ready to host applications only', async () => {
    const { parent } = await openPage();
    const data = { type: 'svc:ready' };
    expect(parent.posted.map((each) => [each.data, each.target])).toEqual([
      [data, HOST],
      [data, OTHER_HOST],
    ]);
  });
});

describe('the host application', () => {
  async function showPage() {
    const window = makeWindow();
    const contentWindow = makeWindow();
    openDocument({ window });
    const { showAdminPage } = await loadAnew<typeof AdminFrame>('client/admin-frame.ts');
    const settings = vi.fn<() => Promise<{ token: string }>>(async () => ({ token: 'the-token' }));
    const frame = { contentWindow, src: '' } as unknown as HTMLIFrameElement;
    const admin = showAdminPage(frame, { serviceUrl: `${SERVICE}/`, path: '/keys', settings });
    onTestFinished(() => admin.close());
    const hear = (given: object) => {
      const data = { type: 'svc:ready' };
      const message = { data, source: contentWindow as unknown, origin: SERVICE, ...given };
      window.dispatchEvent(messageOf(message));
    };
    const other = makeWindow();
    /** The page has loaded, and asks for a token. Returns what it gets over its port. */
    const load = async () => {
      hear({});
      const port = contentWindow.posted.at(-1)?.ports[0];
      const heard: unknown[] = [];
      port?.addEventListener('message', ({ data }) => void heard.push(data));
      port?.start();
      port?.postMessage({ type: 'svc:token-wanted' });
      await arrived();
      return { port, heard };
    };
    return { frame, contentWindow, other, settings, hear, admin, load };
  }

  test('gives a token to the page that it shows', async () => {
    const { frame, contentWindow, settings, load } = await showPage();
    expect(frame.src).toBe(`${SERVICE}/admin/keys`);
    const { heard } = await load();
    const [posted] = contentWindow.posted;
    expect(posted).toMatchObject({ data: { type: 'svc:port' }, target: SERVICE });
    expect(settings).toHaveBeenCalledOnce();
    expect(heard).toEqual([{ type: 'svc:settings', token: 'the-token' }]);
  });

  test('keeps what it is told before there is a page', async () => {
    const { settings, admin, load } = await showPage();
    const given = { token: 'the-token', theme: 'dark', language: 'en' };
    settings.mockResolvedValue(given);
    admin.set({ theme: 'dark', navigation: false });
    admin.go('/members');
    admin.set({ theme: 'light' });
    admin.go('/webhooks');
    const { port, heard } = await load();
    const look = { theme: 'light', navigation: false };
    const type = 'svc:settings';
    expect(heard).toEqual([
      { type: 'svc:go', path: '/webhooks' },
      { type, token: 'the-token', language: 'en', ...look },
    ]);
    // Later the settings are newer.
    port?.postMessage({ type: 'svc:token-wanted' });
    await arrived();
    expect(heard[2]).toEqual({ type, ...given });
  });

  test('keeps what it is told while the page loads anew, and says again what was set', async () => {
    const { admin, load } = await showPage();
    const first = await load();
    admin.set({ theme: 'light' });
    admin.go('/members');
    await arrived();
    expect(first.heard.slice(1)).toEqual([
      { type: 'svc:settings', theme: 'light' },
      { type: 'svc:go', path: '/members' },
    ]);
    first.port?.postMessage({ type: 'svc:gone' });
    await arrived();
    admin.set({ navigation: false });
    admin.go('/sandbox/keys');
    const look = { theme: 'light', navigation: false };
    const settings = { type: 'svc:settings', token: 'the-token', ...look };
    const second = await load();
    expect(second.heard).toEqual([{ type: 'svc:go', path: '/sandbox/keys' }, settings]);
    // A path that has been opened is not opened again.
    second.port?.postMessage({ type: 'svc:gone' });
    await arrived();
    const third = await load();
    expect(third.heard).toEqual([settings]);
  });

  test('lets no token that was set take the place of a newer one', async () => {
    const { admin, load } = await showPage();
    admin.set({ token: 'old' } as object);
    expect((await load()).heard).toEqual([{ type: 'svc:settings', token: 'the-token' }]);
  });

  test.each<[string, (other: unknown) => object]>([
    ['that a frame leads to by now', () => ({ origin: ELSEWHERE })],
    ['of its own', () => ({ origin: HOST })],
    ['in another window', (other) => ({ source: other })],
    ['that says something else', () => ({ data: { type: 'svc:port' } })],
    ['that says nothing', () => ({ data: null })],
  ])('opens no port for a page %s', async (_, given) => {
    const { contentWindow, other, hear } = await showPage();
    hear(given(other));
    expect([...contentWindow.posted, ...other.posted]).toEqual([]);
  });
});
