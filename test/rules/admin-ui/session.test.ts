// Whose data stand on the page, after each answer about the session.
import { describe, expect, test, vi } from 'vitest';
import type * as SessionModule from '../../../src/admin-ui/lib/session.ts';
import { findMeta, HOST, loadAnew, makeWindow, openDocument } from './browser-doubles.ts';

const sessionOf = (team: string, member: string, csrf = 'csrf') =>
  ({
    csrf_token: csrf,
    expires_at: '2026-01-01T00:00:00.000Z',
    member_id: member,
    role: 'admin',
    rights: [],
    team: { id: team, name: team, language: 'en' },
  }) as Partial<SessionModule.Session>;
const ok = (session: Partial<SessionModule.Session>) => Response.json(session);
const status = (code: number) => new Response('', { status: code });

/** Loads the module in a document that stands alone. `answers`: to one question after the other. */
async function open(given: readonly Response[]) {
  const answers = [...given];
  const asked: { url: string; headers: Record<string, string> }[] = [];
  const reload = vi.fn<() => void>();
  const window = makeWindow();
  const document = Object.assign(new EventTarget(), {
    querySelector: findMeta,
    visibilityState: 'visible',
  });
  openDocument({
    window: Object.assign(window, { parent: window }),
    document,
    location: { hash: '', pathname: '/admin', search: '', reload, replace: () => undefined },
    history: { replaceState: () => undefined },
    fetch: async (url: string, { headers }: { headers: Record<string, string> }) => {
      asked.push({ url, headers });
      const answer = answers.shift();
      if (!answer) throw new TypeError('no network');
      return answer;
    },
  });
  const page = await loadAnew<typeof SessionModule>('admin-ui/lib/session.ts');
  const reopened = vi.fn<() => void>();
  page.onReopened(reopened);
  for (const _ of given) await page.loadSession();
  return { page, answers, asked, reload, reopened, window, document };
}

const A = sessionOf('team_a', 'mem_1', 'first');

describe('a document that shows a team to a person', () => {
  test.each([
    ['another team', sessionOf('team_b', 'mem_1', 'second')],
    ['another person', sessionOf('team_a', 'mem_2', 'second')],
  ])('is loaded anew for %s, whose session it never uses', async (_, other) => {
    const { page, reload } = await open([ok(A), ok(other)]);
    expect(reload).toHaveBeenCalledOnce();
    expect(await page.freshHeaders()).toEqual({ 'x-csrf-token': 'first', 'svc-team': 'team_a' });
  });

  test.each([401, 403, 404, 500])('is so even if %i was answered between', async (code) => {
    const { reload } = await open([ok(A), status(code), ok(sessionOf('team_b', 'mem_1'))]);
    expect(reload).toHaveBeenCalledOnce();
  });

  test('stays for the same reader, with the new session', async () => {
    const { page, reload, reopened } = await open([ok(A), ok(sessionOf('team_a', 'mem_1', '2'))]);
    expect(reload).not.toHaveBeenCalled();
    expect(reopened).not.toHaveBeenCalled();
    expect(await page.freshHeaders()).toEqual({ 'x-csrf-token': '2', 'svc-team': 'team_a' });
  });

  test('reads again what was refused, once the same reader is back', async () => {
    const { reload, reopened } = await open([ok(A), status(401), ok(A)]);
    expect(reopened).toHaveBeenCalledOnce();
    expect(reload).not.toHaveBeenCalled();
  });

  test('keeps its session while the service does not answer', async () => {
    const { page, reload } = await open([ok(A), status(503), status(500)]);
    await page.loadSession();
    expect(reload).not.toHaveBeenCalled();
    expect(await page.freshHeaders()).toEqual({ 'x-csrf-token': 'first', 'svc-team': 'team_a' });
  });

  test('looks again when it is looked at, and not while it is hidden', async () => {
    const { asked, reload, document } = await open([ok(A)]);
    document.visibilityState = 'hidden';
    document.dispatchEvent(new Event('visibilitychange'));
    expect(asked).toHaveLength(1);
    document.visibilityState = 'visible';
    document.dispatchEvent(new Event('visibilitychange'));
    expect(asked).toHaveLength(2);
    expect(reload).not.toHaveBeenCalled();
  });
});

describe('a sign-out', () => {
  test.each([
    ['no answer', [], 'no network'],
    ['502', [status(502)], 'the sign-out: 502'],
  ])('that gets %s is said to have failed, and the session stays', async (_, given, why) => {
    const { page, answers } = await open([ok(A)]);
    answers.push(...given);
    await expect(page.signOut()).rejects.toThrow(why);
    expect(await page.freshHeaders()).toEqual({ 'x-csrf-token': 'first', 'svc-team': 'team_a' });
  });

  test('ends the session', async () => {
    const { page, answers } = await open([ok(A)]);
    answers.push(status(200));
    await page.signOut();
    expect(await page.freshHeaders()).toEqual({ 'svc-team': 'team_a' });
  });
});

describe('in a frame, a token that is refused', () => {
  /** What a fault would take to be without end. */
  const MANY = 50;

  /** A host application that has another token for each question. Returns how many there were. */
  async function answer({ page, window }: Awaited<ReturnType<typeof open>>) {
    let questions = 0;
    for (let last = -1; last < questions && questions < MANY;) {
      last = questions;
      const wanted = window.posted.splice(0).filter(({ target }) => target === HOST);
      for (const _ of wanted) {
        questions += 1;
        await page.acceptToken(`token ${questions}`);
      }
    }
    return questions;
  }

  test('is not asked for again if it never opened a session', async () => {
    const opened = await open([]);
    opened.answers.push(...Array.from({ length: MANY }, () => status(401)));
    await opened.page.acceptToken('the first');
    expect(await answer(opened)).toBe(0);
  });

  test('is asked for once after its session has ended', async () => {
    const opened = await open([]);
    opened.answers.push(ok(A), ...Array.from({ length: MANY }, () => status(401)));
    await opened.page.acceptToken('the first');
    await opened.page.loadSession();
    expect(await answer(opened)).toBe(1);
  });

  test('is asked for once if the service did not answer while the token was good', async () => {
    const opened = await open([]);
    opened.answers.push(ok(A));
    await opened.page.acceptToken('the first');
    // No network.
    await opened.page.acceptToken('the second');
    opened.answers.push(...Array.from({ length: MANY }, () => status(401)));
    await opened.page.loadSession();
    expect(await answer(opened)).toBe(1);
  });

  test('is tried again and again until the service answers', async () => {
    const opened = await open([]);
    const timers = vi.spyOn(opened.window, 'setTimeout');
    const ring = async () => {
      const [look, afterMs] = timers.mock.lastCall ?? [];
      timers.mockClear();
      (look as () => void)();
      await vi.waitFor(() => expect(timers).toHaveBeenCalledOnce());
      return afterMs;
    };
    opened.answers.push(ok(A));
    await opened.page.acceptToken('the first');
    // No network.
    await opened.page.acceptToken('the second');
    expect([await ring(), await ring()]).toEqual([5_000, 5_000]);
    opened.answers.push(ok({ ...A, expires_at: new Date(Date.now() + 600_000).toISOString() }));
    await ring();
    expect(opened.asked).toHaveLength(5);
    // Now it waits for the time to ask the host application.
    expect(timers.mock.lastCall?.[1]).not.toBe(5_000);
  });

  test('is replaced when the session has ended, and the page goes on', async () => {
    const opened = await open([]);
    opened.answers.push(ok(A), status(401), ok(A));
    await opened.page.acceptToken('the first');
    await opened.page.loadSession();
    expect(await answer(opened)).toBe(1);
    expect(opened.reopened).toHaveBeenCalledOnce();
  });

  test('is asked for again when the reader comes back to the page', async () => {
    const opened = await open([]);
    opened.answers.push(status(401), ok(A));
    await opened.page.acceptToken('the first');
    opened.document.dispatchEvent(new Event('visibilitychange'));
    expect(await answer(opened)).toBe(1);
    expect(opened.asked.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer the first',
      'Bearer token 1',
    ]);
  });
});
