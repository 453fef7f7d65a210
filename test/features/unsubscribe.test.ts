// The link that ends a member's alerts: one POST of mail programs (RFC 8058), a page for people.
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { readUnsubscribeToken, unsubscribeToken } from '../../src/core/unsubscribe-token.ts';
import {
  ALL,
  api,
  fail,
  find,
  findSubscription,
  HOUR_MS,
  mailed,
  runJobs,
  secrets,
  teamName,
  useAlerts,
  want,
} from '../support/alerts.ts';
import { startTestApi, TEST_APP_SECRET } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';

useAlerts();

const tokenOf = (name: string, secret = secrets.current) =>
  unsubscribeToken({ teamId: `team_${teamName}`, memberId: memberId(teamName, name) }, secret);
const urlOf = (token: string) => `${api.url}/unsubscribe/${token}`;
const wanted = async (name: string) => (await findSubscription(name))?.kinds;

/** What is the same in answers that must not be told apart. */
async function answerOf(response: Response): Promise<object> {
  const { date: _date, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, text: await response.text() };
}

test('ends all alerts of the one member by one POST, as a mail program sends it', async () => {
  await want('owner');
  await want('admin');
  await fail(2 * HOUR_MS);
  await find();
  const received = (await runJobs()).find(({ to }) => to.startsWith('owner'))?.text ?? '';
  const [head = ''] = received.split('\r\n\r\n');
  const unfolded = head.replaceAll(/\r\n\s+/g, ' ');
  const link = /^List-Unsubscribe: <(http[^>]+)>$/m.exec(unfolded)?.[1] ?? '';
  expect(received).toContain(`Alle Meldungen abbestellen: ${link}`);
  const response = await fetch(link, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('keine Meldungen per E-Mail mehr');
  expect(await wanted('owner')).toEqual([]);
  expect(await wanted('admin')).toEqual(ALL);
  await fail(3 * HOUR_MS, `whe_${teamName}_2`);
  expect(await mailed()).toEqual([]);
});

test('changes nothing by a GET or HEAD, which mail scanners send', async () => {
  await want('owner');
  const url = urlOf(tokenOf('owner'));
  const page = await fetch(url, { headers: { 'accept-language': 'en' } });
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('<form method="post"><button>Unsubscribe</button></form>');
  const headers = Object.fromEntries(page.headers);
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'content-language': 'en',
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
  });
  expect(headers['content-security-policy']).toMatch(/default-src 'none';style-src 'sha256-/);
  expect(headers['set-cookie']).toBeUndefined();
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect(await (await fetch(url)).text()).toContain('<html lang="de">');
  expect(await wanted('owner')).toEqual(ALL);
});

test('answers a token of ours in the same way, whatever is left of what it names', async () => {
  await want('owner');
  const post = async (token: string) => answerOf(await fetch(urlOf(token), { method: 'POST' }));
  const first = await post(tokenOf('owner'));
  expect(first).toMatchObject({ status: 200 });
  const gone = { teamId: 'team_gone', memberId: 'mem_gone' };
  for (const token of [
    tokenOf('owner'),
    tokenOf('member'),
    tokenOf('nobody'),
    unsubscribeToken(gone, secrets.current),
  ])
    expect(await post(token)).toEqual(first);
});

test('answers all that is no token of ours alike, before it asks the database', async () => {
  await want('owner');
  const good = tokenOf('owner');
  const [text = '', signature = ''] = good.split('.');
  const other = tokenOf('admin').split('.')[0] ?? '';
  const bad = [
    'x',
    text,
    `${text}.`,
    `.${signature}`,
    `${text}.${signature}.`,
    `${text}.${signature}.x`,
    `${text}.${signature.slice(1)}`,
    `${other}.${signature}`,
    tokenOf('owner', 'another secret, which is long enough, too'),
    `${'x'.repeat(5_000)}.${signature}`,
    '%00',
    '%7B%7D.ä',
  ];
  // Whoever asked the database would wait.
  const release = await holdLock(api, lockWhole('alert_subscription'));
  for (const method of ['GET', 'POST']) {
    const [first, ...others] = await Promise.all(
      bad.map(async (token) => answerOf(await fetch(urlOf(token), { method }))),
    );
    expect(first).toMatchObject({ status: 404 });
    for (const answer of others) expect(answer).toEqual(first);
  }
  await release();
  expect(await wanted('owner')).toEqual(ALL);
});

test('accepts a link of before the rotation of APP_SECRET', async () => {
  const old = tokenOf('owner', 'the secret of before, which is long enough');
  const rotated = {
    current: secrets.current,
    previous: 'the secret of before, which is long enough',
  };
  expect(readUnsubscribeToken(old, rotated)).toEqual({
    teamId: `team_${teamName}`,
    memberId: memberId(teamName, 'owner'),
  });
  expect(readUnsubscribeToken(old, secrets)).toBeNull();
});

test('takes no large body', async () => {
  await want('owner');
  const status = await new Promise<number | undefined>((done, failed) => {
    const sent = request(urlOf(tokenOf('owner')), { method: 'POST' }, (response) => {
      response.resume();
      done(response.statusCode);
    });
    sent.on('error', failed);
    sent.setHeader('Content-Length', 10_000_000);
    sent.flushHeaders();
  });
  expect(status).toBe(200);
  expect(await wanted('owner')).toEqual([]);
});

test('asks to try again while the database is away', async () => {
  const database = await createTestDatabase();
  const proxy = await startPostgresProxy(database.url);
  const seed = makeSeed([makeTeam('away')]);
  const away = await startTestApi({ seed, database: { ...database, url: proxy.url } });
  const subscriber = { teamId: 'team_away', memberId: memberId('away', 'owner') };
  const url = `${away.url}/unsubscribe/${unsubscribeToken(subscriber, TEST_APP_SECRET)}`;
  const post = async () => {
    const headers = { 'accept-language': 'en' };
    const response = await fetch(url, { method: 'POST', headers });
    return [response.status, await response.text()];
  };
  expect((await post())[0]).toBe(200);
  await proxy.stop();
  expect(await post()).toEqual([503, expect.stringContaining('This did not work.')]);
});
