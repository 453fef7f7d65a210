// How the developer pages are served: headers, compression, links, and their twins for programs.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import express from 'express';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { docsRouter } from '../../src/docs/docs.ts';
import { readSheet } from '../../src/docs/front-matter.ts';
import { html } from '../../src/docs/html.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { readReference } from '../../src/docs/reference/operations.ts';
import { LANGUAGES } from '../../src/docs/samples/languages.ts';
import { createMarkdown } from '../../src/docs/markdown.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { crawl, filesOf, linksOf, plain, type CrawledPage } from '../support/docs.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** What a browser may have to load for one page, compressed. */
const PAGE_MAX_BYTES = 100_000;

/** So much can a program read, with room for its work: all pages at once, and the largest guide. */
const TOGETHER_MAX = 122_000;

let api: TestApi;
let pages: readonly CrawledPage[];
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('acme')]) });
  pages = await crawl(api);
});

const get = (path: string, init?: RequestInit): Promise<Response> => fetch(api.url + path, init);
const textOf = async (path: string): Promise<string> => (await get(path)).text();
const paths = (): string[] => pages.map(({ path }) => path);

describe('developer pages', () => {
  it('begin at /docs, where / leads to', async () => {
    const response = await get('/', { redirect: 'manual' });
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/docs');
    expect(paths()).toContain('/docs/quickstart');
    expect(await textOf('/docs/')).toBe(pages[0]?.html);
  });

  it('are HTML without a key, under a content security policy without exceptions', () => {
    for (const { headers } of pages) {
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')?.split(';').toSorted()).toEqual([
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "font-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self'",
        "require-trusted-types-for 'script'",
        "script-src 'self'",
        "style-src 'self'",
      ]);
    }
  });

  it('load nothing from other sites, and hold neither inline script nor style', () => {
    for (const { html: page } of pages) {
      for (const file of filesOf(page)) expect(file).toMatch(/^\/docs\/assets\/[\w.-]+\?v=/);
      expect(page).not.toMatch(/<style|<script(?![^>]*\ssrc=)/i);
      expect(page).not.toMatch(/<[^>]*\s(?:style|on\w+)=/i);
    }
  });

  it('have no broken link, neither to a page nor to a part of one', async () => {
    const known = new Map(pages.map((page) => [page.path, page.html]));
    const missing = new Set<string>();
    for (const { path, html: page } of pages) {
      for (const link of linksOf(page)) {
        if (/^https?:/.test(link)) continue;
        const [target, fragment] = link.startsWith('#') ? [path, link.slice(1)] : link.split('#');
        const found = known.get(target ?? '');
        if (fragment !== undefined && !found?.includes(`id="${fragment}"`))
          missing.add(`${path} → ${link}`);
        if (found !== undefined) continue;
        const response = await get(target ?? '');
        if (response.status !== 200) missing.add(`${path} → ${link}: ${response.status}`);
        known.set(target ?? '', await response.text());
      }
    }
    expect([...missing]).toEqual([]);
  });

  it('have one title, one description, and every id once', () => {
    const titles = pages.map(({ html: page }) => /<title>(.*?)<\/title>/.exec(page)?.[1]);
    expect(new Set(titles).size).toBe(pages.length);
    for (const { html: page } of pages) {
      expect(page.split('<h1')).toHaveLength(2);
      expect(page).toMatch(/<meta name="description" content="[^"]{10,}"/);
      const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id);
      expect(ids).toEqual([...new Set(ids)]);
    }
  });

  it('name their language, and the same page in the other one', async () => {
    const german = pages.filter(({ path }) => isGerman(path));
    expect(german.length).toBeGreaterThan(5);
    for (const { path, html: page } of pages) {
      expect(page).toContain(`<html lang="${isGerman(path) ? 'de' : 'en'}">`);
      const [, other = ''] = /class="language"[^>]*?href="([^"]+)"/.exec(page) ?? [];
      expect(isGerman(other)).toBe(!isGerman(path));
    }
    // Pages in both languages name both, and each the other one.
    for (const { path, html: page } of german) {
      const [, other = ''] = /class="language"[^>]*?href="([^"]+)"/.exec(page) ?? [];
      const twin = pages.find((one) => one.path === other)?.html ?? '';
      expect(/class="language"[^>]*?href="([^"]+)"/.exec(twin)?.[1]).toBe(path);
      for (const one of [page, twin])
        expect(
          [...one.matchAll(/hreflang="([\w-]+)" href="([^"]+)" \/>/g)].map((match) =>
            match.slice(1),
          ),
        ).toEqual([
          ['en', api.url + other],
          ['de', api.url + path],
          ['x-default', api.url + other],
        ]);
    }
  });

  it('open in less than 100 KB each, with everything that they load', async () => {
    const sizes = new Map<string, number>();
    const sizeOf = async (path: string, encoding: 'br' | 'gzip'): Promise<number> => {
      const name = `${encoding} ${path}`;
      const size = sizes.get(name) ?? (await sizeAs(encoding, path));
      sizes.set(name, size);
      return size;
    };
    // What the stylesheet and the scripts of every page load.
    const scripts = ['key', 'words', 'theme', 'contents', 'try'].map((name) => `${name}.js`);
    const later = ['geist-mono.woff2', ...scripts];
    const base = later.map((name) => `/docs/assets/${name}`);
    const sumAs = async (encoding: 'br' | 'gzip', all: readonly string[]): Promise<number> => {
      const each = await Promise.all(all.map((path) => sizeOf(path, encoding)));
      return each.reduce((sum, size) => sum + size, 0);
    };
    const tooLarge: string[] = [];
    for (const { path, html: page } of pages) {
      const all = [path, ...base, ...filesOf(page)];
      // Brotli takes very long, and makes smaller what is small enough by gzip.
      let sum = await sumAs('gzip', all);
      if (sum > PAGE_MAX_BYTES) sum = await sumAs('br', all);
      // A page of the reference is small even before it is compressed.
      const isReference = /^\/docs\/(?:reference|objects)\//.test(path);
      const size = isReference ? page.length : 0;
      if (sum > PAGE_MAX_BYTES || size > PAGE_MAX_BYTES) tooLarge.push(`${path} ${sum}`);
    }
    expect(tooLarge).toEqual([]);
  });

  it('show the reader’s own address in samples, and the placeholder for the key', () => {
    const page = pages.find(({ path }) => path === '/docs/quickstart');
    expect(plain(page?.html ?? '')).toContain(
      `curl --fail-with-body "${api.url}/api/public/v1/me"`,
    );
    expect(page?.html).toContain('data-key>YOUR_API_KEY<');
  });
});

describe('caching', () => {
  it.each(['br', 'gzip', 'identity'] as const)('serves the same bytes as %s', async (encoding) => {
    const { body, headers } = await request(`${api.url}/docs/errors`, {
      headers: { 'accept-encoding': encoding },
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    const decode = { br: brotliDecompressSync, gzip: gunzipSync, identity: (one: Buffer) => one };
    expect(headers['content-encoding'] ?? 'identity').toBe(encoding);
    expect(headers['vary']).toBe('Accept-Encoding');
    expect(decode[encoding](bytes).toString()).toBe(await textOf('/docs/errors'));
  });

  it('answers 304 to who has the page, and sends it again to others', async () => {
    const etag = (await get('/docs/errors')).headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[0-9a-f]{12}"$/);
    const ask = async (value: string) =>
      (await get('/docs/errors', { headers: { 'if-none-match': value }, cache: 'no-cache' }))
        .status;
    expect([await ask(etag), await ask('W/"0"')]).toEqual([304, 200]);
  });

  it('lets files be kept for ever if the address names their content', async () => {
    const file = filesOf(pages[0]?.html ?? '').find((one) => one.includes('docs.css')) ?? '';
    expect((await get(file)).headers.get('cache-control')).toBe(
      'public, max-age=31536000, immutable',
    );
    for (const path of ['/docs/assets/docs.css?v=old', '/docs/assets/docs.css', '/docs'])
      expect((await get(path)).headers.get('cache-control')).toBe('public, no-cache');
  });

  it('names the content of scripts that scripts import', async () => {
    const script = await textOf('/docs/assets/docs.js');
    const imports = [...script.matchAll(/'\.\/([^']+)'/g)].map(([, name]) => name ?? '');
    expect(imports.length).toBeGreaterThan(3);
    for (const name of imports)
      expect((await get(`/docs/assets/${name}`)).headers.get('cache-control')).toContain(
        'immutable',
      );
  });
});

describe('what does not exist', () => {
  it('is a page of its own below /docs', async () => {
    const response = await get('/docs/nothing');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain('There is no such page');
  });

  it.each(['/docs/de/reference', '/docs/de/reference/members-list', '/docs/de/power-bi.md'])(
    'leads from %s, which is not translated, to the English page',
    async (path) => {
      const { status, headers } = await get(path, { redirect: 'manual' });
      expect([status, headers.get('location')]).toEqual([302, path.replace('/de/', '/')]);
      expect((await get('/docs/de/nothing')).status).toBe(404);
    },
  );

  it.each(['/docs/nothing', '/docs/search?q=x'])('is no link of %s', async (path) => {
    const page = await textOf(path);
    const links = [...linksOf(page), ...(page.match(/<link [^>]*/g) ?? [])]
      .map((link) => (/href="([^"]*)"/.exec(link)?.[1] ?? link).split('#')[0] ?? '')
      .filter((link) => link.startsWith('/'));
    expect(links.length).toBeGreaterThan(10);
    for (const link of new Set(links))
      expect(`${link} ${(await get(link)).status}`).toBe(`${link} 200`);
  });

  it.each(['/docs/assets/%ff', '/docs/%', '/docs/assets/%E0%A4%A'])(
    'answers %s, which cannot be decoded, without a stack',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBeLessThan(500);
      expect(await response.text()).toMatch(/^(?:Bad request|Not found)\n$/);
      expect(api.loggedErrors).toEqual([]);
    },
  );

  it.each([
    '/docs/nothing.md',
    '/docs/assets/index.html',
    '/docs/assets/receiver.py',
    '/docs/assets/..%2f..%2fpackage.json',
    '/nothing',
  ])('is a plain 404 for %s', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(await response.text()).toBe('Not found\n');
  });

  it('is every method but GET and HEAD', async () => {
    expect((await get('/docs', { method: 'POST' })).status).toBe(404);
    const head = await get('/docs', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

describe('behind a path in PUBLIC_URL', () => {
  it('begins every link with that path', async () => {
    const publicUrl = 'https://team.example/tools';
    const document = JSON.stringify(openApiDocument(publicUrl));
    const costs = new Map<string, number>();
    const admitReader = async (request: { path: string }, _: unknown, cost: number) => {
      costs.set(request.path, cost);
      return true;
    };
    const server = express()
      .use(
        docsRouter({
          publicUrl,
          document,
          allowsLocalReceivers: false,
          deprecation: { since: '2027-01-01', sunset: '2028-01-01' },
          admitReader,
        }),
      )
      .listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await (await fetch(`${url}/docs/versions.md`)).text()).toContain(
      '| v1 | deprecated | 2027-01-01 | 2028-01-01 |',
    );
    const root = await fetch(url, { redirect: 'manual' });
    expect(root.headers.get('location')).toBe('/tools/docs');
    for (const path of [
      '/docs',
      '/docs/webhooks',
      '/docs/reference/members-list',
      '/docs/search',
    ]) {
      const page = await (await fetch(url + path)).text();
      const links = [...linksOf(page), ...filesOf(page)].filter((link) => !link.startsWith('#'));
      expect(links.filter((link) => !link.startsWith('/tools/'))).toEqual([]);
    }
    const index = (await (await fetch(`${url}/docs/search.json`)).json()) as { base: string };
    expect(index.base).toBe('/tools');
    expect(await (await fetch(`${url}/llms.txt`)).text()).toContain(
      'https://team.example/tools/docs/errors.md',
    );
    // What is large uses up more of the rate at which strangers get answers.
    const bytes = (await (await fetch(`${url}/llms-full.txt`)).arrayBuffer()).byteLength;
    expect(costs.get('/llms-full.txt')).toBe(Math.floor(bytes / 65_536));
    costs.delete('/llms-full.txt');
    // So does a search, which takes more time.
    expect(costs.get('/docs/search')).toBe(9);
    costs.delete('/docs/search');
    expect(Math.max(...costs.values())).toBeLessThan(4);
    expect(costs.get('/docs')).toBeUndefined();
  });
});

/** The operations, with the names of the query parameters that only they have. */
function operations() {
  return readReference(openApiDocument(api.url)).operations.map(({ parameters, ...operation }) => ({
    ...operation,
    headers: parameters.filter(({ place }) => place === 'header').map(({ name }) => name),
    parameters: parameters
      .filter(({ place, name }) => place === 'query' && !['cursor', 'limit'].includes(name))
      .map(({ name }) => name),
  }));
}

/** The pages of llms-full.txt by their titles. */
function sectionsOf(full: string): ReadonlyMap<string, string> {
  return new Map(
    full.split(/^# /m).map((section) => [section.split('\n')[0] ?? '', section] as const),
  );
}

/** The fields of lists, without examples, and of long lists of values only the first. */
function fieldsIn(page: string) {
  const lines = [...page.matchAll(/^ *- `(\w+)`(?: \(([^)]*)\))?: (.+)$/gm)];
  return lines.map(([, name = '', about = '', text = '']) => ({
    name,
    isRequired: about.includes('required'),
    text: text
      .replace(/ ?Example: `[^`]*`\.$/, '')
      .replaceAll(/(`[^`]+`)(?:, `[^`]+`)+(?= \(|\.|$)/g, '$1')
      .replaceAll(/(`[^`]+`) … `[^`]+` \([^)]*\)/g, '$1')
      .replaceAll(/; a date-time with an offset\.| Encode the `\+` of an offset as `%2B`\./g, '.')
      .replaceAll('..', '.')
      .replace(/ Its fields are in _\w+_\.$/, '')
      .trim(),
  }));
}

/** What a page says of a field, or the pages to which it leads. */
function meaningsOf(
  sections: ReadonlyMap<string, string>,
  title: string,
  name: string,
): ReturnType<typeof fieldsIn> {
  const section = sections.get(title) ?? '';
  const elsewhere = [...section.matchAll(/Its fields are in _(\w+)_/g)].flatMap(([, other = '']) =>
    meaningsOf(sections, other, name),
  );
  const here = fieldsIn(section).filter((field) => field.name === name);
  const found = here.flatMap((field) => {
    const [, other] = /^as in _(.*)_\.$/.exec(field.text) ?? [];
    if (other === undefined) return [field];
    return meaningsOf(sections, other, name).map((one) => ({
      ...one,
      isRequired: field.isRequired,
    }));
  });
  return [...found, ...elsewhere];
}

describe('for programs', () => {
  it('has a Markdown twin of each page, which the page names', async () => {
    for (const { path, html: page } of pages) {
      const [, twin] =
        /<link rel="alternate" href="([^"]*)" type="text\/markdown"/.exec(page) ?? [];
      expect(twin).toBe(`${path}.md`);
      const response = await get(`${path}.md`);
      expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      const title = plain(/<h1>(.*?)<\/h1>/.exec(page)?.[1] ?? '');
      const text = await response.text();
      expect(text.split('\n')[0]).toBe(`# ${title}`);
      expect(text).not.toMatch(/\{\{|undefined|\[object|<div/);
    }
  });

  it('links from twin to twin, by addresses that exist', async () => {
    const links = new Set<string>();
    for (const path of paths())
      for (const [, link] of (await textOf(`${path}.md`)).matchAll(/\]\(([^)]+)\)/g))
        links.add(link?.split('#')[0] ?? '');
    const own = [...links].filter((link) => !link.startsWith('https://keepachangelog.com/'));
    expect(own.length).toBeGreaterThan(30);
    const statuses = await Promise.all(
      own.map(async (link) => `${link} ${(await fetch(link)).status}`),
    );
    expect(statuses).toEqual(own.map((link) => `${link} 200`));
    expect(own.filter((link) => !link.startsWith(`${api.url}/`))).toEqual([]);
  });

  it('lists all pages in llms.txt, and holds them in llms-full.txt but for the past', async () => {
    const [index, full] = [await textOf('/llms.txt'), await textOf('/llms-full.txt')];
    expect(index.startsWith('# Team Customer API\n\n> ')).toBe(true);
    const missing: string[] = [];
    for (const path of paths()) {
      expect(index).toContain(`(${api.url}${path}.md)`);
      // One language is enough for a program.
      if (isGerman(path)) continue;
      const [title = ''] = (await textOf(`${path}.md`)).split('\n');
      if (!full.split('\n').includes(title)) missing.push(path);
    }
    expect(missing).toEqual(['/docs/python', '/docs/changelog']);
    const python = await textOf('/llms-full.txt?language=python');
    expect(python).toContain('\n# Python library\n');
    expect(python).not.toContain('\n# Client library\n');
  });

  it('keeps small what a program reads at once', async () => {
    const sizeOf = async (path: string) => Buffer.byteLength(await textOf(path));
    for (const { id } of LANGUAGES) {
      const full = await sizeOf(`/llms-full.txt?language=${id}`);
      const guide = await sizeOf(`/docs/webhooks.md?language=${id}`);
      expect(full + guide).toBeLessThan(TOGETHER_MAX);
    }
  });

  it('says in llms-full.txt all that the pages say, each thing once', async () => {
    const full = await textOf('/llms-full.txt');
    // The text of a guide, but for its links and samples.
    const lines = (text: string): string[] =>
      text
        .replaceAll(/^```.*?^```$/gms, '')
        .split('\n')
        .filter((line) => line.length > 40 && !/[[\]:]/.test(line));
    const guide = lines(await textOf('/docs/webhooks.md'));
    expect(guide.length).toBeGreaterThan(50);
    for (const line of guide) expect(full).toContain(line);
    // Every operation, with its scope and all parameters but those of every list.
    const sections = sectionsOf(full);
    for (const { method, path, summary, scope, parameters } of operations()) {
      const own = sections.get(summary) ?? '';
      const needed = scope === null ? 'No scope.' : `Scope \`${scope}\`.`;
      expect(own).toContain(`\n\`${method} ${path}\` ${needed}`);
      for (const name of parameters) expect(own).toMatch(new RegExp(`\n- \`${name}\`(?:: | \\()`));
    }
    // What a page tells of a field is told once, and no request of a guide is shown twice.
    expect(full.split('https://your-receiver.example/hooks')).toHaveLength(2);
    expect(full).toContain('- `user_id` (optional): as above.');
  });

  it('keeps in llms-full.txt each field of the reference, or says where it is', async () => {
    const sections = sectionsOf(await textOf('/llms-full.txt'));
    let count = 0;
    for (const path of paths().filter((one) => /^\/docs\/(?:reference|objects)\//.test(one))) {
      const page = await textOf(`${path}.md`);
      const [title = ''] = page.slice(2).split('\n');
      // The fields of a response are on the page of its object.
      const parts = page
        .split(/^(?=## )/m)
        .filter((part) => !/^## (?:Path|Headers|Resp)/.test(part));
      const fields = fieldsIn(parts.join('')).filter(
        ({ name }) => !/^(?:cursor|limit)$/.test(name),
      );
      count += fields.length;
      for (const { name, isRequired, text } of fields) {
        const told = meaningsOf(sections, title, name);
        expect(told.map((one) => one.text)).toContain(text);
        expect(told.map((one) => one.isRequired)).toContain(isRequired);
      }
    }
    expect(count).toBeGreaterThan(250);
  });

  it('keeps in llms-full.txt the errors of each operation: its own, and others once', async () => {
    const sections = sectionsOf(await textOf('/llms-full.txt'));
    const usual = new Map(Object.entries(PROBLEMS).map(([code, { cause }]) => [code, cause.en]));
    for (const { slug, summary, method, path, scope, headers } of operations()) {
      const page = await textOf(`/docs/reference/${slug}.md`);
      const rows = [...page.matchAll(/^\| (\d+) \| \[`(\w+)`\]\([^)]*\) \| (.*) \|$/gm)];
      const common = [
        'unauthorized',
        'api_disabled',
        'validation_error',
        'rate_limited',
        'internal',
        'unavailable',
        ...(scope === null ? [] : ['insufficient_scope']),
        ...(method === 'POST' || method === 'PATCH' ? ['bad_request'] : []),
        ...(method === 'POST' ? ['idempotency_mismatch', 'conflict'] : []),
        ...(method === 'PATCH' || method === 'DELETE' ? ['precondition_failed'] : []),
        ...(path.includes('{') || path.startsWith('/sandbox') ? ['not_found'] : []),
      ];
      const codes = rows.map(([, , code]) => code);
      for (const code of common) expect(`${slug} ${codes.join(' ')}`).toContain(code);
      const own = rows.filter(
        ([, , code = '', cause = '']) =>
          !common.includes(code) ||
          (['conflict', 'not_found'].includes(code) &&
            !/^(?:A call with the same|The team has nothing with this|The key is a live one)/.test(
              cause,
            )),
      );
      const texts = own.map(([, status, code = '', cause]) =>
        cause === usual.get(code) ? `${status} \`${code}\`.` : `${status} \`${code}\`: ${cause}`,
      );
      const [line = ''] = /^Errors: .*$/m.exec(sections.get(summary) ?? '') ?? [];
      expect([slug, line]).toEqual([
        slug,
        ['Errors:', ...texts].join(' ').replace(/^Errors:$/, ''),
      ]);
      const sent =
        method === 'GET' ? 'If-None-Match' : method === 'POST' ? 'Idempotency-Key' : 'If-Match';
      expect(headers).toEqual(['Accept-Language', sent]);
    }
  });

  it('has samples in one language, which the reader may name', async () => {
    const languages = (text: string) =>
      new Set([...text.matchAll(/^```(\w+)$/gm)].map(([, id]) => id));
    const page = '/docs/reference/assignments-create.md';
    expect([...languages(await textOf(page))]).toEqual(['bash', 'json']);
    expect([...languages(await textOf(`${page}?language=python`))]).toEqual(['python', 'json']);
    expect(await textOf(`${page}?language=cobol`)).toBe(await textOf(page));
    const full = languages(await textOf('/llms-full.txt?language=go'));
    expect([...full]).toContain('go');
    // Some recipes are in Python only.
    for (const other of ['php', 'java', 'csharp', 'ruby']) expect(full).not.toContain(other);
  });
});

describe('sources', () => {
  it('escapes every value in text and in attributes', () => {
    const { html: text } = html`<p title="${`"'<>&`}">${'<script>'}${7}${null}</p>`;
    expect(text).toBe('<p title="&quot;&#39;&lt;&gt;&amp;">&lt;script&gt;7</p>');
  });

  it('keeps front matter and comments of a file from its readers', () => {
    const { facts, text } = readSheet(
      '---\ntitle: A\n  B\n---\n\nOne. <!-- test: x "y" -->\n\n<!-- run: z -->\n\n' +
        '- Two\n  <!-- a\n  b -->\n',
    );
    expect([...facts]).toEqual([['title', 'A B']]);
    expect(text).toBe('One.\n\n- Two');
  });

  it('shows HTML within Markdown as it is written', () => {
    const { html: text } = createMarkdown(String).toHtml(
      'A <b onclick="x()">tag</b>, `<t>`\n\n<script>',
    );
    expect(text).not.toMatch(/<(?!\/?(?:p|code)>)/);
    expect(plain(text)).toContain('<script>');
  });
});

function isGerman(path: string): boolean {
  return /^\/docs\/de(?:\/|$)/.test(path);
}

async function sizeAs(encoding: string, path: string): Promise<number> {
  const { body } = await request(api.url + path, { headers: { 'accept-encoding': encoding } });
  return (await body.arrayBuffer()).byteLength;
}
