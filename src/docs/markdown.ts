/**
 * The source of every page is Markdown, and this file is all that reads it: it makes the HTML of
 * the page, its Markdown twin, and the shorter text for who reads all pages at once. What Markdown
 * lacks is between `::: name arguments` and `:::`:
 *  * `only page twin all`: only for these readers;
 *  * `html`: HTML as it is, only on the page;
 *  * `samples`: fences in several languages, each ` ```grammar Label, file `; the page has tabs;
 *  * `fields place sent`: a list of fields; `sent`: what callers send;
 *  * `operations`, `names`, `cards`: lists of links, with looks of their own;
 *  * `address`: the method and path of an operation;
 *  * `problem code`, and in it `fold language label` around what the page folds;
 *  * any other name is the class of a `div` around its content.
 * A fence ` ```grammar Title ` has a title. A heading ends in its id, `{#id}`.
 */
import { Marked, type Tokens } from 'marked';
import { highlight } from './highlight.ts';
import { html, trusted, type Html } from './html.ts';
import { pathOfObject } from './reference/paths.ts';
import { DEFAULT_LANGUAGE, LANGUAGES } from './samples/languages.ts';
import { slugOf } from './slug.ts';

/** Who reads Markdown. */
export interface Reader {
  /** The id of the language of the samples. What has none in it shows its first one. */
  readonly language: string;
  /** Whether all pages are read at once. */
  readonly hasAllPages?: boolean;
}

/** A heading that the page's table of contents lists. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  /** Plain text. */
  readonly text: string;
}

export interface Markdown {
  /** The page. Links that begin with `/` lead to this service. */
  readonly toHtml: (source: string) => Html;
}

/** A container, or the whole source. */
interface Part {
  readonly name: string;
  readonly args: readonly string[];
  readonly parts: (string | Part)[];
}

function parse(source: string): Part {
  const root: Part = { name: '', args: [], parts: [] };
  const open = [root];
  let isCode = false;
  for (const line of source.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const [, name, args = ''] = (!isCode && /^::: (\w+) ?(.*)$/.exec(line)) || [];
    const { parts } = open.at(-1) ?? root;
    if (name !== undefined) {
      const part: Part = { name, args: args.split(' '), parts: [] };
      parts.push(part);
      open.push(part);
    } else if (line === ':::' && !isCode) open.pop();
    else {
      const last = parts.at(-1);
      if (typeof last === 'string') parts[parts.length - 1] = `${last}\n${line}`;
      else parts.push(line);
    }
  }
  if (open.length !== 1) throw new Error(`"${open.at(-1)?.name}" does not end: ${source}`);
  return root;
}

/** The lines of a container that are in no other one. */
function linesOf(parts: Part['parts']): string {
  return parts.filter((part) => typeof part === 'string').join('\n');
}

/** The text for programs. */
export function textOf(source: string, reader: Reader): string {
  return markedText(source, reader).replaceAll(/^(#+ .*?) \{#[^}]*\}$/gm, '$1');
}

/** The text with the ids of its headings. */
export function markedText(source: string, reader: Reader): string {
  return partText(parse(source), reader);
}

function partText({ name, args, parts }: Part, reader: Reader): string {
  const isAll = reader.hasAllPages === true;
  if (name === 'html' || name === 'fold') return '';
  if (name === 'only' && !args.includes(isAll ? 'all' : 'twin')) return '';
  if (name === 'samples') return sampleText(linesOf(parts), reader.language);
  if (name === 'fields' && isAll) return briefFields(linesOf(parts), args.includes('sent'));
  return parts
    .map((part) => (typeof part === 'string' ? titled(part) : partText(part, reader)).trim())
    .filter((text) => text !== '')
    .join('\n\n');
}

/** A fence has its title above it. */
function titled(text: string): string {
  return text.replaceAll(/^```(\w+) (.+)$/gm, '$2:\n\n```$1');
}

export function headingsOf(source: string): Heading[] {
  const lines = partText(parse(source), { language: DEFAULT_LANGUAGE }).replaceAll(
    /^```[\s\S]*?^```$/gm,
    '',
  );
  return [...lines.matchAll(/^(#+) (.*) \{#(.*)\}$/gm)].map(
    ([, marks = '', text = '', id = '']) => ({
      level: marks.length,
      id,
      text: text.replaceAll(/[`*]|\]\([^)]*\)|\[|\]/g, ''),
    }),
  );
}

/**
 * Gives each heading an id of its words, unless it has one, or that of the English text, so that a
 * link to a part of a page holds in every language. Repeated ones, as in a changelog, have that of
 * their section.
 */
export function withIds(text: string, english = text): string {
  const titles = headingLines(english).map((line) => ENDS_IN_ID.exec(line) ?? []);
  const slugs = titles.map(([, , title = '', id]) => id ?? slugOf(title.replaceAll(TARGET, '')));
  let section = '';
  const ids = slugs.map((slug, index) => {
    const level = titles[index]?.[1]?.length ?? 2;
    if (level === 2) section = slug;
    const isRepeated = slugs.filter((one) => one === slug).length > 1;
    return isRepeated && level > 2 ? `${section}-${slug}` : slug;
  });
  return text.replaceAll(HEADING, (line) => {
    const [, marks, title] = ENDS_IN_ID.exec(line) ?? [];
    return marks === undefined ? line : `${marks} ${title} {#${ids.shift()}}`;
  });
}

const ENDS_IN_ID = /^(#+) (.*?)(?: \{#(.*)\})?$/;
const TARGET = /\]\([^)]*\)/g;

/** Also matches code, in which nothing is a heading. */
const HEADING = /^```[\s\S]*?^```$|^#+ .*$/gm;

function headingLines(text: string): string[] {
  return (text.match(HEADING) ?? []).filter((line) => line.startsWith('#'));
}

export function fence(code: string, language: string, title = ''): string {
  return `\`\`\`${`${language} ${title}`.trim()}\n${code.replace(/\n$/, '')}\n\`\`\``;
}

export function container(name: string, content: string): string {
  return content === '' ? '' : `::: ${name}\n${content}\n:::`;
}

/** Joins what is not empty. */
export function joined(...parts: readonly string[]): string {
  return parts.filter((text) => text !== '').join('\n\n');
}

const SAMPLE = /^```(\w+) ([^,\n]+)(?:, (\S+))?\n(.*?)\n```$(?:\n([^\n`]+): `([^\n]+)`$)?/gms;

interface Sample {
  /** The id of its language. */
  readonly id: string;
  readonly label: string;
  readonly grammar: string;
  readonly code: string;
  /** The name under which the reader saves it. */
  readonly file: string | undefined;
  /** How the reader starts it, after `run`. */
  readonly run: string | undefined;
  readonly command: string | undefined;
}

function readSamples(text: string): Sample[] {
  return [...text.matchAll(SAMPLE)].map(
    ([, grammar = '', label = '', file, code = '', run, command]) => {
      const id = LANGUAGES.find((one) => one.grammar === grammar)?.id ?? grammar;
      return { id, label, grammar, code, file, run, command };
    },
  );
}

function sampleText(text: string, language: string): string {
  const samples = readSamples(text);
  const shown = samples.find(({ id }) => id === language) ?? samples[0];
  if (!shown) throw new Error(`no sample in ${text}`);
  const { label, grammar, code, file, run, command } = shown;
  const title = file === undefined ? label : `${label}, \`${file}\``;
  return joined(
    `${title}:\n\n${fence(code, grammar)}`,
    command === undefined ? '' : `${run}: \`${command}\``,
  );
}

/** A field: its indent, name, type with requirement, and text. */
const FIELD = /^( *)- `([^`]+)`(?: \(([^)]*)\))?(?:: (.*))?$/gm;
const ABOUT = /^(.*?)(?:, )?(required|optional|erforderlich)?$/;
const EXAMPLE = /^(.*?) ?(?:(Example|Beispiel): (`[^`]*`)\.)?$/;

/** What callers send is optional unless it says otherwise, what they get is always there. */
function briefFields(text: string, isSent: boolean): string {
  return text.replaceAll(FIELD, (...[, indent, name, about = '', said = '']: string[]) => {
    const [, type = '', requirement] = ABOUT.exec(about) ?? [];
    const [, brief = ''] = EXAMPLE.exec(said) ?? [];
    const names = type.split(' or ').filter((one) => one !== 'string');
    const others = names.filter((one) => one !== 'null');
    const facts = [
      others.join(' or ') + (names.includes('null') ? '?' : ''),
      requirement === (isSent ? 'required' : 'optional') ? requirement : '',
    ].filter((fact) => fact !== '');
    const shown = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
    return `${indent}- \`${name}\`${shown}${brief === '' ? '' : `: ${brief}`}`;
  });
}

/** `objects` have pages, to which the types of fields link. `tabs` names those of samples. */
export function createMarkdown(
  addressOf: (path: string) => string,
  { objects = new Set(), tabs = '' }: { objects?: ReadonlySet<string>; tabs?: string } = {},
): Markdown {
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const [, id = ''] = /\{#(.*)\}$/.exec(text) ?? [];
        const content = trusted(this.parser.parseInline(tokens).replace(/ \{#.*\}$/, ''));
        const anchor = html` <a class="anchor" href="#${id}" tabindex="-1" aria-hidden="true"
          >#</a
        >`;
        return `<h${depth} id="${id}">${content.html}${depth > 3 ? '' : anchor.html}</h${depth}>\n`;
      },
      code({ text, lang = '' }) {
        const [grammar = '', ...title] = lang.split(' ');
        return `${codeHtml(title.join(' '), text, grammar).html}\n`;
      },
      link({ href, tokens }) {
        const [path = '', ...hash] = href.split(/(?=#)/);
        const target = href.startsWith('/') ? addressOf(path) + hash.join('') : href;
        return html`<a href="${target}">${trusted(this.parser.parseInline(tokens))}</a>`.html;
      },
      table({ header, rows }: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'td' | 'th'): string => {
          const inner = cells.map(({ tokens, text }) => {
            const status = /^\d{3}$/.test(text) ? ' class="status"' : '';
            const open = tag === 'th' ? '<th scope="col">' : `<td${status}>`;
            return `${open}${this.parser.parseInline(tokens)}</${tag}>`;
          });
          return `<tr>${inner.join('')}</tr>`;
        };
        const body = rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0"><table>
<thead>${row(header, 'th')}</thead>
<tbody>${body}</tbody>
</table></div>\n`;
      },
      html({ text }) {
        return html`${text}`.html;
      },
    },
  });
  const block = (text: string): Html => trusted(marked.parse(text, { async: false }));
  const inline = (text: string): Html => trusted(marked.parseInline(text, { async: false }));
  const inner = (parts: Part['parts']): Html[] => parts.map(partHtml);

  function partHtml(part: string | Part): Html {
    if (typeof part === 'string') return block(part);
    const { name, args, parts } = part;
    const text = linesOf(parts);
    switch (name) {
      case '':
        return html`${inner(parts)}`;
      case 'only':
        return html`${args.includes('page') ? inner(parts) : null}`;
      case 'html':
        return trusted(text);
      case 'samples':
        return samplesHtml(readSamples(text), tabs);
      case 'fields':
        return fieldsHtml(text, args[0] ?? '');
      case 'operations':
      case 'names':
      case 'cards':
        return html`<ul class="${name}">
          ${text
            .trim()
            .split('\n')
            .map((line) => html`<li>${linkHtml(line)}</li> `)}
        </ul>`;
      case 'address': {
        const [, method = '', path = ''] = /`(\S+) (\S+)`/.exec(text) ?? [];
        return html`<p class="address">
          ${methodBadge(method)} <code>${path}</code> <a class="try-link" href="#try">Try it</a>
        </p>`;
      }
      case 'problem': {
        const [id = ''] = args;
        const content = html`${inner(parts)}`.html.replace(` id="${id}"`, '');
        return html`<section class="problem" id="${id}">${trusted(content)}</section> `;
      }
      case 'fold': {
        const [language = '', label = ''] = args;
        return html`<details>
          <summary lang="${language}">${label}</summary>
          <div lang="${language}">${inner(parts)}</div>
        </details>`;
      }
      default:
        return html`<div class="${name}">${inner(parts)}</div>`;
    }
  }

  /** `- [Title](/path): text`. Of an operation, the text begins with its method and path. */
  function linkHtml(line: string): Html {
    const [, title = '', path = '', said = ''] =
      /^- \[(.*?)\]\((.*?)\)(?:: (.*))?$/.exec(line) ?? [];
    const [, method, address = ''] = /^`([A-Z]+) (.*?)`/.exec(said) ?? [];
    const link = html`<a href="${addressOf(path)}">${title}</a>`;
    if (method !== undefined) return html`${methodBadge(method)} ${link} <code>${address}</code>`;
    return said === ''
      ? link
      : html`${link}
          <p>${inline(said)}</p>`;
  }

  function fieldsHtml(text: string, place: string): Html {
    const items = text.trim().split(/\n(?=- )/);
    return html`<dl class="fields">${items.map((item) => fieldHtml(item, place))}</dl>`;
  }

  /** The id of a field is `<place>-<name>`, for instance `body-title`, and stays. */
  function fieldHtml(item: string, place: string): Html {
    const [, , name = '', about = '', said = ''] = [...item.matchAll(FIELD)][0] ?? [];
    const [, type = '', requirement] = ABOUT.exec(about) ?? [];
    const [, words = '', word = '', example] = EXAMPLE.exec(said) ?? [];
    const children = item.split('\n').slice(1).join('\n').replaceAll(/^ {2}/gm, '');
    const id = `${place}-${name}`;
    const isOptional = requirement === 'optional';
    return html`<div>
      <dt id="${id}">
        <code>${name}</code> <span class="type">${typeHtml(type)}</span>
        ${
          requirement === undefined
            ? null
            : html`<span class="${isOptional ? 'optional' : 'required'}">${requirement}</span>`
        }
        ${
          example === undefined
            ? null
            : html`<span class="example">${word}: ${inline(example)}</span>`
        }
      </dt>
      <dd>
        ${words === '' ? null : html`<p>${inline(words)}</p>`}
        ${children === '' ? null : fieldsHtml(children, id)}
      </dd>
    </div>`;
  }

  function typeHtml(type: string): Html {
    const parts = type.split(/\b([A-Z]\w+)/).map((part) => {
      return objects.has(part)
        ? html`<a href="${addressOf(pathOfObject(part))}">${part}</a>`
        : html`${part}`;
    });
    return html`${parts}`;
  }

  return { toHtml: (source) => partHtml(parse(source)) };
}

function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/**
 * Code that a reader can scroll with the keyboard, hence `tabindex`. The script adds a button that
 * copies it.
 */
function codeHtml(title: string, code: string, language: string): Html {
  return html`<figure class="code">
    ${title === '' ? null : html`<figcaption>${title}</figcaption>`}
    <pre tabindex="0"><code>${highlight(code, language)}</code></pre>
  </figure>`;
}

function commandHtml(run = '', command = ''): Html {
  return html`<p class="command">${run}: <code>${command}</code></p>`;
}

/**
 * Without JavaScript all languages are shown under each other. With it, one is: the one that the
 * reader chose last. `assets/start.js` chooses before the page is painted. A group without that
 * language shows its first one.
 */
function samplesHtml(samples: readonly Sample[], name: string): Html {
  const missing = LANGUAGES.filter(({ id }) => samples.every((sample) => sample.id !== id));
  const classes = ['samples', ...missing.map(({ id }) => `without-${id}`)].join(' ');
  const buttons = samples.map(
    ({ id, label }) => html`<button type="button" data-language="${id}">${label}</button>`,
  );
  const panels = samples.map(
    ({ id, label, grammar, code, file, run, command }) =>
      html`<div class="sample" data-language="${id}">
        <p class="sample-title">${label}</p>
        ${codeHtml(file ?? '', code, grammar)}
        ${command === undefined ? null : commandHtml(run, command)}
      </div>`,
  );
  return html`<div class="${classes}">
    <div class="tabs" aria-label="${name}">${buttons}</div>
    ${panels}
  </div>`;
}
