// The admin page in a frame of the host application, from another site.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page in a frame${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let host: Server;
  let hostOrigin: string;

  beforeAll(async () => {
    host = createServer((_request, response) => {
      void hostPage(api.url).then((page) =>
        response.setHeader('content-type', 'text/html').end(page),
      );
    });
    await new Promise<void>((done) => host.listen(0, '127.0.0.1', done));
    // Another site than 127.0.0.1, so cookies of the frame would be those of a third party.
    hostOrigin = `http://localhost:${(host.address() as AddressInfo).port}`;
    const seed = makeSeed([makeTeam('framed')]);
    api = await startTestApi({ seed, app: { adminHostOrigins: [hostOrigin] } });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    host?.close();
  });

  it('gets token, language and theme over a port, and keeps nothing', async () => {
    const context = await browser.newContext({ locale: 'en-GB' });
    const page = await context.newPage();
    await page.goto(hostOrigin);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'API-Schlüssel' }).waitFor();
    expect(await frame.locator('html').getAttribute('data-theme')).toBe('dark');
    await frame.getByRole('link', { name: 'Schlüssel erstellen' }).click();
    await frame.getByLabel('Name').fill('Aus dem Rahmen');
    await frame.getByRole('button', { name: 'Schlüssel erstellen' }).click();
    await frame.getByRole('dialog', { name: 'Ihr neuer Schlüssel' }).waitFor();
    expect(await context.cookies()).toEqual([]);
  });

  it('is refused to every other origin', async () => {
    const page = await browser.newPage();
    await page.goto(hostOrigin.replace('localhost', '127.0.0.1'));
    await page.waitForLoadState('networkidle');
    expect(await page.frameLocator('iframe').locator('nav').count()).toBe(0);
  });
});

async function hostPage(url: string): Promise<string> {
  const identity = {
    kind: 'user',
    userId: userId('framed', 'owner'),
    teamId: 'team_framed',
  } as const;
  const settings = {
    type: 'svc:settings',
    token: await tokenOf(identity),
    theme: 'dark',
    language: 'de',
  };
  return `<!doctype html><title>Host</title>
<iframe title="Admin" src="${url}/admin/keys" width="1000" height="800"></iframe>
<script>
  addEventListener('message', (event) => {
    if (event.origin !== '${url}' || event.data.type !== 'svc:ready') return;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => port1.postMessage(${JSON.stringify(settings)});
    event.source.postMessage({ type: 'svc:port' }, '${url}', [port2]);
  });
</script>`;
}
