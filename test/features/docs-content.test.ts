// What the developer pages say, compared with the declarations that they are made from.
import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ERROR_MEANINGS } from '../../src/core/delivery-errors.ts';
import { EVENT_TYPES, EVENTS } from '../../src/core/events.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { createSearch, type SearchEntry } from '../../src/docs/assets/search.js';
import { readSheet } from '../../src/docs/front-matter.ts';
import { phrases } from '../../src/docs/guides.ts';
import type { Search } from '../../src/docs/own-pages.ts';
import { PROGRAMS, READERS, RECEIVERS } from '../../src/docs/samples/programs.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { crawl, plain, type CrawledPage } from '../support/docs.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { SEARCHES } from './docs-searches.ts';

let api: TestApi;
let pages: ReadonlyMap<string, CrawledPage>;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('acme')]) });
  pages = new Map((await crawl(api)).map((page) => [page.path, page]));
});

const nextTurn = () => new Promise<void>((done) => void setImmediate(done));
const htmlOf = (path: string): string => pages.get(path)?.html ?? '';
const EXAMPLES = new URL('../../src/docs/examples/', import.meta.url);

describe('the reference', () => {
  it.each(ENDPOINTS.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    'describes %s with its scope, fields and errors',
    (_name, endpoint) => {
      const slug = endpoint.name.replaceAll(/[.-]|(?=[A-Z])/g, '-').toLowerCase();
      const page = htmlOf(`/docs/reference/${slug}`);
      const text = plain(page);
      expect(text).toContain(endpoint.summary);
      expect(text).toContain(
        endpoint.scope === null ? 'Needs no scope' : `Needs the scope ${endpoint.scope}`,
      );
      for (const field of Object.keys(endpoint.input.shape))
        expect(page).toMatch(new RegExp(`id="(?:path|query|body)-${field}"`));
      for (const code of endpoint.errors) expect(page).toContain(`href="/docs/errors#${code}"`);
      // `bad_request` has a cause for each of its statuses.
      for (const code of endpoint.errors.filter((one) => one !== 'bad_request'))
        expect(text).toContain(
          (endpoint.causes[code] ?? PROBLEMS[code].cause.en).replaceAll('`', ''),
        );
      expect(page.split('class="sample"')).toHaveLength(9);
    },
  );

  it.each([
    ['members-create', ['The email already belongs', 'Active and invited members take all seats']],
    ['cases-create', ['A call with the same Idempotency-Key is still running.']],
    ['webhooks-resend-deliveries', ['A resend of this endpoint has not ended.']],
    ['members-remove', ['the only active admin', 'the owner of the team, who cannot be removed']],
  ])('says what a 409 means for %s, and nothing of other operations', (slug, causes) => {
    const rows = htmlOf(`/docs/reference/${slug}`)
      .split('<tr>')
      .filter((row) => /<td class="status">409/.test(row));
    expect(rows.map(plain)).toEqual(causes.map((cause) => expect.stringContaining(cause)));
    const text = rows.map(plain).join(' ');
    expect(text.includes('email')).toBe(slug === 'members-create');
    expect(text.includes('Idempotency-Key')).toBe(slug !== 'members-remove');
  });

  it('lists every operation and every object in its index', () => {
    const page = htmlOf('/docs/reference');
    for (const { path, summary } of ENDPOINTS) {
      expect(plain(page)).toContain(path);
      expect(plain(page)).toContain(summary);
    }
    for (const name of ['assignment', 'webhook-endpoint', 'team-analytics', 'problem'])
      expect(page).toContain(`href="/docs/objects/${name}"`);
  });

  it('describes the fields of an object, those within others too', () => {
    const page = htmlOf('/docs/objects/evaluation');
    for (const id of ['field-score', 'field-score-dimensions', 'field-tips-issue'])
      expect(page).toContain(`id="${id}"`);
    expect(plain(page)).toContain('/trainings/{training_id}/evaluation');
  });
});

describe('/docs/errors', () => {
  it.each(Object.entries(PROBLEMS))(
    'explains %s in German and English, in one element of that id',
    (code, { status, title, cause, remedy }) => {
      const page = htmlOf('/docs/errors');
      expect(page.split(`id="${code}"`)).toHaveLength(2);
      const [, section = ''] =
        new RegExp(`<section class="problem" id="${code}">(.*?)</section>`, 's').exec(page) ?? [];
      expect(section).toContain(`>${status}<`);
      const [english = '', folded = ''] = section.split('<details>');
      expect(folded).toContain('<div lang="de">');
      for (const [language, part] of [
        ['de', folded],
        ['en', english],
      ] as const) {
        for (const text of [title, cause, remedy])
          expect(plain(part)).toContain(text[language].replaceAll('`', ''));
      }
    },
  );

  it('is the page that the type of a problem links to', async () => {
    const { body } = await api.call(null, 'GET', '/me');
    const { origin, pathname, hash } = new URL(body.type);
    expect(origin).toBe(api.url);
    expect(htmlOf(pathname)).toContain(`id="${hash.slice(1)}"`);
  });
});

describe('the guides', () => {
  it.each(EVENT_TYPES)('show when %s is raised, its fields, and what is withheld', (type) => {
    const page = htmlOf('/docs/events');
    expect(page.split(`id="${type}"`)).toHaveLength(2);
    expect(plain(page)).toContain(EVENTS[type].trigger);
    for (const field of Object.keys(EVENTS[type].data.shape))
      expect(page).toContain(`id="${type}-${field}"`);
  });

  it('lead to a webhook: the quickstart subscribes to the event that it lets happen', async () => {
    const text = await (await fetch(`${api.url}/docs/quickstart.md`)).text();
    const [, subscribed = ''] = /"events": (\[[^\]]*\])/.exec(text) ?? [];
    expect(JSON.parse(subscribed)).toContain('evaluation.completed');
    expect(text).toContain('"type": "evaluation.completed"');
  });

  it('show none of the comments for their authors', async () => {
    const paths = ['/docs/webhooks', '/docs/de/webhooks', '/docs/webhooks.md', '/docs/errors.md'];
    const files = ['/llms-full.txt', '/docs/search.json', '/docs/de/search.json'];
    for (const path of [...paths, ...files]) {
      const text = await (await fetch(`${api.url}${path}`)).text();
      expect([path, /(?:<|&lt;)!--|test: features\//.test(text)]).toEqual([path, false]);
      expect(text.length).toBeGreaterThan(1000);
    }
  });

  it('list every scope', () => {
    const text = plain(htmlOf('/docs/authentication'));
    for (const scope of SCOPES) expect(text).toContain(scope);
  });

  it('say in both languages what each error of a delivery means', () => {
    const rowsOf = (path: string): string[] =>
      htmlOf(path)
        .split('<tr>')
        .map((row) => plain(row).replaceAll(/\s+/g, ' ').trim());
    const [english, german] = [rowsOf('/docs/webhooks'), rowsOf('/docs/de/webhooks')];
    for (const [error, { de, en }] of Object.entries(ERROR_MEANINGS)) {
      expect(english).toContainEqual(expect.stringContaining(`${error}${en}`));
      expect(german).toContainEqual(expect.stringContaining(`${error}${de}`));
    }
  });

  it('show what changed for customers, the API first, and nothing of other readers', async () => {
    const page = htmlOf('/docs/changelog');
    const source = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
    const sections = source.split(/^### /m).slice(1);
    const entries = sections.map((section) => [...section.matchAll(/^- (.*)$/gm)]);
    for (const [index, section] of sections.entries())
      for (const [, entry = ''] of entries[index] ?? [])
        expect(plain(page).includes(entry.replaceAll('`', ''))).toBe(
          /^(?:API|Clients and documentation|Admin page and app)\n/.test(section),
        );
    expect(entries.flat().length).toBeGreaterThan(30);
    expect(/<h3[^>]*>(.*?) </.exec(page)?.[1]).toBe('API');
  });

  it('show every program as its file has it', async () => {
    const recipes = ['nightly', 'low-score', 'joiners-and-leavers', 'automation-tools', 'power-bi'];
    const guides = ['webhooks', 'pagination', ...recipes].map((name) => htmlOf(`/docs/${name}`));
    const shown = plain(guides.join(''));
    const others = [
      'receive-webhook.js',
      'results.pq',
      'send-delivery.sh',
      'verify-delivery.sh',
      'verify-standardwebhooks.js',
      'verify-stripe.js',
      'verify-svix.js',
    ];
    const programs = [...RECEIVERS, ...READERS, ...Object.values(PROGRAMS).flat()];
    for (const file of [...programs.map((one) => one.file), ...others]) {
      const source = (await readFile(new URL(file, EXAMPLES), 'utf8')).trim();
      const here = source.replaceAll('https://api.example.com', api.url);
      expect(shown).toContain(here);
    }
  });
});

const GUIDES = new URL('../../src/docs/guides/', import.meta.url);

// Who changes an English guide reads the German one, too.
describe('the German guides', async () => {
  const files = await readdir(new URL('de/', GUIDES));

  it.each(files)('say in %s what the English text says: parts, code and terms', async (file) => {
    const [english, german] = await Promise.all(
      [file, `de/${file}`].map((name) => readFile(new URL(name, GUIDES), 'utf8')),
    );
    const [translated, source] = [german, english].map((text) => readSheet(text ?? '').text);
    expect(outlineOf(translated ?? '')).toEqual(outlineOf(source ?? ''));
  });

  it.each(files)('address their reader in %s', async (file) => {
    const german = readSheet(await readFile(new URL(`de/${file}`, GUIDES), 'utf8')).text;
    expect(german).toMatch(/\bSie\b/);
    expect(german).not.toMatch(/\b(?:man|einem selbst|du|dein\w*)\b/i);
  });

  it.each(files)('show in %s the same code, with the same ids of headings', (file) => {
    const name = file.replace('.md', '');
    const path = name === 'introduction' ? '' : `/${name}`;
    const [english, german] = [htmlOf(`/docs${path}`), htmlOf(`/docs/de${path}`)];
    for (const pattern of [/<pre.*?<\/pre>/gs, /<h[234] id="(?!menu-)[^"]*"/g, /<tr>/g])
      expect([...german.matchAll(pattern)].map(([one]) => one)).toEqual(
        [...english.matchAll(pattern)].map(([one]) => one),
      );
    expect(german).toContain('<html lang="de">');
  });
});

// Its texts are in the declarations, so no file shows that one is missing.
describe('the German event catalogue', () => {
  it.each(EVENT_TYPES)('says of %s what the English one says, in German', (type) => {
    const [english, german] = ['/docs/events', '/docs/de/events'].map(
      (path) => new RegExp(`<h2 id="${type}">(.*?)(?=<h2|<footer)`, 's').exec(htmlOf(path))?.[1],
    );
    for (const pattern of [/<pre.*?<\/pre>/gs, /<dt id="[^"]*"/g, /<code>[^<]*<\/code>/g])
      expect([...(german ?? '').matchAll(pattern)].map(([one]) => one)).toEqual(
        [...(english ?? '').matchAll(pattern)].map(([one]) => one),
      );
    const prose = plain((german ?? '').replaceAll(/<(code|pre)[ >].*?<\/\1>/gs, ''));
    expect(prose).not.toMatch(/\b(?:the|is|of|Only|Example|or null|Known)\b/);
    expect(prose).not.toContain(EVENTS[type].trigger);
  });
});

/** What must be the same in every language, in the order of the text. */
function outlineOf(markdown: string): unknown {
  const text = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '{{code}}');
  const terms = (text.match(/`[^`]+`/g) ?? []).map((term) => term.replaceAll(/\s+/g, ' '));
  return {
    parts: [...text.matchAll(/^(?:#+(?= )|\{\{.*\}\})/gm)].map(([part]) => part),
    terms: new Set(terms),
    operations: new Set(text.match(/\]\(\/docs\/reference[^)]*\)/g)),
  };
}

describe('search', () => {
  let entries: SearchEntry[];
  let search: Search;
  beforeAll(async () => {
    const response = await fetch(`${api.url}/docs/search.json`);
    entries = ((await response.json()) as { entries: SearchEntry[] }).entries;
    search = await createSearch(entries);
  });

  it('leads only to places that exist, and reaches every page', () => {
    const missing = entries.filter(({ path }) => {
      const [page = '', fragment] = path.split('#');
      return fragment === undefined ? !pages.has(page) : !htmlOf(page).includes(`id="${fragment}"`);
    });
    expect(missing).toEqual([]);
    const found = new Set(entries.map(({ path }) => path.split('#')[0]));
    const missed = [...pages.keys()].filter((path) => !found.has(path));
    expect(missed.filter((path) => !path.startsWith('/docs/de'))).toEqual([]);
  });

  it('leads first to what readers look for, in their words', async () => {
    const misses = [];
    for (const [first, queries] of SEARCHES) {
      for (const query of queries.split(', ')) {
        const found = search(query, 1)[0]?.path ?? '';
        if (!first.test(found)) misses.push({ query, first, found });
      }
      // The server of this process closes idle connections in between.
      await nextTurn();
    }
    expect(misses).toEqual([]);
  });

  it('has other words only for parts that exist', () => {
    const paths = new Set(entries.map(({ path }) => path));
    const named = [...phrases().keys()];
    expect(named.length).toBeGreaterThan(150);
    expect(named.filter((path) => !paths.has(path))).toEqual([]);
  });

  it('takes at most 40 KB of scripts, and an index that is loaded when it is needed', async () => {
    const bytesOf = async (path: string): Promise<number> =>
      gzipSync(await (await fetch(api.url + path)).text()).length;
    const scripts = ['minisearch.js', 'synonyms.js', 'search.js', 'search-box.js'];
    const sizes = await Promise.all(scripts.map((name) => bytesOf(`/docs/assets/${name}`)));
    expect(sizes.reduce((sum, bytes) => sum + bytes)).toBeLessThan(40 * 1024);
    expect(await bytesOf('/docs/search.json')).toBeLessThan(64 * 1024);
  });

  it('finds nothing without words, and some where a word is missing', () => {
    expect(search(' . ', 5)).toEqual([]);
    expect(search('xyzzyqq', 5)).toEqual([]);
    // Three words may be misspelt.
    expect(search('xyzzyqq xyzzyqr authenticaxiox', 1)).toHaveLength(1);
    expect(search('xyzzyqq xyzzyqr xyzzyqs authenticaxiox', 1)).toEqual([]);
    expect(search('webhook xyzzyqq', 1)[0]?.path).toBe('/docs/webhooks');
  });

  it('has German pages for German readers, and what is in English only', async () => {
    const response = await fetch(`${api.url}/docs/de/search.json`);
    const german = ((await response.json()) as { entries: SearchEntry[] }).entries;
    const find = await createSearch(german);
    const first = (query: string): string | undefined => find(query, 1)[0]?.path;
    for (const query of ['schlüssel wechseln', 'schlüssel ersetzen', 'schlüssel rotieren'])
      expect([query, first(query)]).toEqual([query, '/docs/de/authentication#change-a-key']);
    expect(first('secret ersetzen')).toBe('/docs/de/webhooks#change-the-secret');
    expect(first('signatur prüfen')).toMatch(/^\/docs\/de\/webhooks/);
    expect(first('seat_limit_reached')).toBe('/docs/de/errors#seat_limit_reached');
    expect(first('list members')).toBe('/docs/reference/members-list');
    for (const { path } of german) expect(pages.has(path.split('#')[0] ?? '')).toBe(true);
    const page = await (await fetch(`${api.url}/docs/de/search?q=fehler`)).text();
    expect(page).toContain('<html lang="de">');
    expect(page).toContain('href="/docs/de/errors"');
  });

  it('works without JavaScript, and shows the query as text', async () => {
    const page = await (await fetch(`${api.url}/docs/search?q=rate+limits`)).text();
    expect(page).toContain('href="/docs/rate-limits"');
    const compressible = { 'accept-encoding': 'br, gzip' };
    const response = await fetch(`${api.url}/docs/search?q=x`, { headers: compressible });
    // Each query is its own page. To compress it would take four times as long as to make it.
    expect(response.headers.get('content-encoding')).toBeNull();
    const attack = '"><img src=x onerror=alert(1)>';
    const shown = await (
      await fetch(`${api.url}/docs/search?q=${encodeURIComponent(attack)}`)
    ).text();
    expect(shown).not.toContain('<img');
    expect(shown).toContain('value="&quot;&gt;&lt;img');
  });
});
