// The client package behind a proxy, by the `fetch` of an npm package, which takes no `Request` but
// its own.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fetch, ProxyAgent } from 'undici';
import { createClient } from '../../src/client/index.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startTestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Starts a proxy that knows CONNECT only. Returns what uses it, and whom it was asked for. */
async function startProxy(): Promise<{ agent: ProxyAgent; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer().listen(0, '127.0.0.1');
  server.on('connect', ({ url = '' }, socket) => {
    asked.push(url);
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const one of [socket, target]) one.on('error', () => target.destroy());
  });
  await once(server, 'listening');
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // As it is for an API with https.
  const agent = new ProxyAgent({ uri, proxyTunnel: true });
  onTestFinished(async () => {
    await agent.destroy();
    server.close();
  });
  return { agent, asked };
}

test('calls go through the proxy of a fetch with a Request of its own', async () => {
  const api = await startTestApi({ seed: makeSeed([makeTeam('proxied')]) });
  const proxy = await startProxy();
  const dispatcher = proxy.agent;
  const settings = { apiKey: api.key('team_proxied'), baseUrl: api.url + BASE_PATH };
  const client = createClient({
    ...settings,
    fetch: (request, parts) => fetch(request.url, { ...parts, dispatcher }),
  });
  const { id } = await client.members.create({ email: 'kim@proxied.test', role: 'admin' });
  expect(await client.members.get({ member_id: id })).toMatchObject({ role: 'admin' });
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(api.url).host]));

  // As before, one that knows the request alone gets all of it.
  const plain = createClient({ ...settings, fetch: (request) => globalThis.fetch(request) });
  await plain.members.update({ member_id: id, role: 'member' });
  expect(await plain.members.get({ member_id: id })).toMatchObject({ role: 'member' });

  // And so does one that passes both on.
  const both = createClient({ ...settings, fetch: globalThis.fetch });
  expect(await both.members.remove({ member_id: id })).toEqual({ ok: true });
});

test('a call through it ends with the signal of the caller', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const proxy = await startProxy();
  const dispatcher = proxy.agent;
  const client = createClient({
    apiKey: 'svck_live_x',
    baseUrl: `http://127.0.0.1:${port}${BASE_PATH}`,
    maxRetries: 0,
    fetch: (request, parts) => fetch(request.url, { ...parts, dispatcher }),
  });
  const ended = new AbortController();
  silent.once('request', () => ended.abort(new Error('enough')));
  await expect(client.me.get({}, { signal: ended.signal })).rejects.toThrow('enough');
});
