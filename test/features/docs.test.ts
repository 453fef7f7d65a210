import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EVENT_TYPES } from '../../src/core/events.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { isGenuine } from '../../src/http/docs/assets/verify-signature.js';
import { docsRouter } from '../../src/http/docs/docs.ts';
import { html, withCode } from '../../src/http/docs/html.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('acme')]) });
});

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(api.url + path, init);
const textOf = async (path: string): Promise<string> => (await get(path)).text();

const PAGES = ['/docs', '/docs/', '/docs/errors', '/docs/webhooks'];

describe('developer pages', () => {
  it.each(PAGES)(
    'serves %s without a key as HTML, with a strict content security policy',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
    },
  );

  it('allows scripts and requests only on the page that tries the API', async () => {
    const policy = (await get('/docs')).headers.get('content-security-policy');
    expect(policy).toMatch(/script-src 'self'(;|$)/);
    expect(policy).toMatch(/connect-src 'self'(;|$)/);
    for (const path of ['/docs/errors', '/docs/webhooks']) {
      expect((await get(path)).headers.get('content-security-policy')).not.toMatch(
        /script-src|connect-src|data:/,
      );
    }
  });

  it.each(PAGES)(
    'names no other site, and holds neither inline script nor style on %s',
    async (path) => {
      const page = await textOf(path);
      expect(page).not.toMatch(/https?:\/\/|\/\/[a-z]/i);
      expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/i);
    },
  );

  it.each(PAGES)('has no broken links on %s', async (path) => {
    const page = await textOf(path);
    const links = [...page.matchAll(/(?:href|src|data-document)="([^"#][^"]*)"/g)].map(
      ([, link]) => link ?? '',
    );
    expect(links.length).toBeGreaterThan(4);
    const statuses = await Promise.all(
      links.map(async (link) => `${link} ${(await get(link)).status}`),
    );
    expect(statuses).toEqual(links.map((link) => `${link} 200`));
    for (const [, fragment] of page.matchAll(/href="#([^"]+)"/g))
      expect(page).toContain(`id="${fragment}"`);
  });

  it('lets versioned files be cached for ever, and others only with a check', async () => {
    const [, versioned = ''] =
      /src="([^"]*swagger-ui-bundle\.js[^"]*)"/.exec(await textOf('/docs')) ?? [];
    expect((await get(versioned)).headers.get('cache-control')).toBe(
      'public, max-age=31536000, immutable',
    );
    expect((await get('/docs/assets/docs.css?v=old')).headers.get('cache-control')).toBe(
      'public, max-age=0',
    );
    expect((await get('/docs/assets/docs.css')).headers.get('content-type')).toBe(
      'text/css; charset=utf-8',
    );
  });

  it('starts Swagger UI with a script that names no other site and stores no key', async () => {
    const script = await textOf('/docs/assets/explorer.js');
    expect(script).not.toMatch(/https?:\/\//);
    expect(script).toContain('persistAuthorization: false');
  });

  it.each([
    '/docs/nothing',
    '/docs/errors/not_found',
    '/docs/assets/',
    '/docs/assets/index.html',
    '/docs/assets/verify-signature.js',
    '/docs/assets/..%2f..%2fpackage.json',
    '/docs/assets/constructor',
    '/nothing',
  ])('answers a plain 404 for %s', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toBe('Not found\n');
  });

  it('works behind a path in PUBLIC_URL', async () => {
    const server = express()
      .use('/docs', docsRouter({ publicUrl: 'https://team.example/tools' }))
      .listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const page = await (
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`)
    ).text();
    const links = [...page.matchAll(/(?:href|src|data-document|data-server)="([^"]+)"/g)].map(
      ([, link]) => link,
    );
    expect(links.filter((link) => !link?.startsWith('/tools/'))).toEqual([]);
  });
});

describe('/docs/errors', () => {
  it.each(Object.entries(PROBLEMS))(
    'explains %s in German and English, in one element of that id',
    async (code, { status, title, cause, remedy }) => {
      const page = await textOf('/docs/errors');
      expect(page.split(`id="${code}"`)).toHaveLength(2);
      const [, section = ''] =
        new RegExp(`<section class="problem" id="${code}">(.*?)</section>`, 's').exec(page) ?? [];
      expect(section).toContain(`>${status}<`);
      for (const language of ['de', 'en'] as const) {
        const [, part = ''] =
          new RegExp(`<div lang="${language}">(.*?)</div>`, 's').exec(section) ?? [];
        for (const text of [title, cause, remedy])
          expect(plain(part)).toContain(text[language].replaceAll('`', ''));
      }
    },
  );

  it('is the page that the type of a problem links to', async () => {
    const { body } = await api.call(null, 'GET', '/me');
    const { origin, pathname, hash } = new URL(body.type);
    expect(origin).toBe(api.url);
    expect(await textOf(pathname)).toContain(`id="${hash.slice(1)}"`);
  });
});

describe('/docs/webhooks', () => {
  it.each(EVENT_TYPES)('shows the event %s', async (type) => {
    expect(await textOf('/docs/webhooks')).toContain(`id="${type}"`);
  });

  it('shows code that verifies signatures correctly', () => {
    const body = Buffer.from('{"id":"evt_1"}');
    const now = Math.floor(Date.now() / 1000);
    const sign = (t: number, secret = 'whsec_x') =>
      `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body.toString()}`).digest('hex')}`;
    expect(isGenuine('whsec_x', sign(now), body)).toBe(true);
    expect(isGenuine('whsec_x', sign(now - 290), body)).toBe(true);
    expect(isGenuine('whsec_x', sign(now - 310), body)).toBe(false);
    expect(isGenuine('whsec_x', sign(now, 'whsec_y'), body)).toBe(false);
    expect(isGenuine('whsec_x', sign(now), Buffer.from('{"id":"evt_2"}'))).toBe(false);
    expect(isGenuine('whsec_x', 'nonsense', body)).toBe(false);
  });

  // test/skeleton/package.test.ts shows that the others work.
  it.each(['verify-signature.js', 'receive-webhook.js', 'verify-delivery.sh', 'send-delivery.sh'])(
    'shows the sample %s as it is',
    async (name) => {
      const source = await readFile(
        new URL(`../../src/http/docs/assets/${name}`, import.meta.url),
        'utf8',
      );
      expect(plain(await textOf('/docs/webhooks'))).toContain(source);
    },
  );
});

describe('html', () => {
  it('escapes every value in text and in attributes', () => {
    const { html: text } = html`<p title="${`"'<>&`}">${'<script>'}${7}</p>`;
    expect(text).toBe('<p title="&quot;&#39;&lt;&gt;&amp;">&lt;script&gt;7</p>');
  });

  it('keeps HTML unchanged, and escapes within marked code', () => {
    expect(html`<p>${withCode('Send `a<b` & wait')}</p>`.html).toBe(
      '<p>Send <code>a&lt;b</code> &amp; wait</p>',
    );
  });
});

/** Returns the text that a reader of the HTML sees. It does not use the escaping of the pages. */
function plain(page: string): string {
  const named: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&amp;': '&',
  };
  return page
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => named[entity] ?? '');
}
