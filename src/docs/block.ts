/**
 * The parts of a page. Each is written twice: as HTML for people, and as Markdown for programs and
 * for the search index.
 */
import { highlight } from './highlight.ts';
import { html, type Html } from './html.ts';

/** A heading that the page's table of contents lists. */
export interface Heading {
  readonly level: number;
  readonly id: string;
  /** Plain text. */
  readonly text: string;
}

/** Who reads the Markdown of a page. */
export interface Reader {
  /** The id of the language of the samples. What has none in it shows its first one. */
  readonly language: string;
  /** Whether all pages are read at once. */
  readonly hasAllPages?: boolean;
}

export interface Block {
  /** Makes the HTML. Not before it is needed: the search index wants only the Markdown. */
  readonly render: () => Html;
  /** A function, if it depends on who reads it. */
  readonly markdown: string | ((reader: Reader) => string);
  readonly headings: readonly Heading[];
}

/** A block without headings. */
export function block(render: () => Html, markdown: Block['markdown']): Block {
  return { render, markdown, headings: [] };
}

/** A block around others, which keeps their Markdown and headings. */
export function wrap(blocks: readonly Block[], around: (inner: readonly Html[]) => Html): Block {
  return {
    render: () => around(blocks.map((one) => one.render())),
    markdown: (reader) => joinMarkdown(blocks, reader),
    headings: blocks.flatMap((one) => one.headings),
  };
}

/** Blocks side by side on wide screens. On small ones `beside` stands between the other two. */
export function columns(parts: {
  readonly intro: readonly Block[];
  readonly beside: readonly Block[];
  readonly rest: readonly Block[];
  /** As wide as both columns. */
  readonly below?: readonly Block[];
}): Block[] {
  return [
    wrap(parts.intro, (inner) => html`<div class="intro">${inner}</div>`),
    wrap(parts.beside, (inner) => html`<div class="beside">${inner}</div>`),
    wrap(parts.rest, (inner) => html`<div class="rest">${inner}</div>`),
    ...(parts.below ? [wrap(parts.below, (inner) => html`<div class="below">${inner}</div>`)] : []),
  ];
}

/** Blocks that say what another page says: left out for who reads all pages at once. */
export function repeated(blocks: readonly Block[]): Block[] {
  return blocks.map((one) => briefly(one, ''));
}

/** A block that is this Markdown for who reads all pages at once. */
export function briefly(one: Block, brief: string): Block {
  return {
    ...one,
    markdown: (reader) => (reader.hasAllPages ? brief : joinMarkdown([one], reader)),
  };
}

export function joinMarkdown(blocks: readonly Block[], reader: Reader): string {
  return blocks
    .map(({ markdown }) => (typeof markdown === 'string' ? markdown : markdown(reader)).trim())
    .filter((text) => text !== '')
    .join('\n\n');
}

/** A heading with a link to itself, which is for the mouse: the table of contents has it too. */
export function heading(level: 2 | 3 | 4, text: string, id: string): Block {
  return {
    render: () => headingHtml(level, html`${text}`, id),
    markdown: `${'#'.repeat(level)} ${text}`,
    headings: [{ level, id, text }],
  };
}

export function headingHtml(level: number, content: Html, id: string): Html {
  const anchor = html`<a class="anchor" href="#${id}" tabindex="-1" aria-hidden="true">#</a>`;
  switch (level) {
    case 2:
      return html`<h2 id="${id}">${content} ${anchor}</h2>`;
    case 3:
      return html`<h3 id="${id}">${content} ${anchor}</h3>`;
    default:
      return html`<h4 id="${id}">${content}</h4>`;
  }
}

/** Code with a title. */
export function codeBlock(title: string, code: string, language: string): Block {
  return block(() => codeHtml(title, code, language), `${title}:\n\n${fence(code, language)}`);
}

/**
 * Code that a reader can scroll with the keyboard, hence `tabindex`. The script adds a button that
 * copies it.
 */
export function codeHtml(title: string | null, code: string, language: string): Html {
  const text = code.replace(/\n$/, '');
  return html`<figure class="code">
    ${title === null ? null : html`<figcaption>${title}</figcaption>`}
    <pre tabindex="0"><code>${highlight(text, language)}</code></pre>
  </figure>`;
}

export function fence(code: string, language: string): string {
  return `\`\`\`${language}\n${code.replace(/\n$/, '')}\n\`\`\``;
}
