/** Markdown to HTML, for the guides and for descriptions in the OpenAPI document. */
import { Marked, type Tokens } from 'marked';
import { codeHtml, headingHtml, type Block, type Heading } from './block.ts';
import { html, trusted, type Html } from './html.ts';
import { slugOf } from './slug.ts';

export interface MarkdownRenderer {
  /**
   * Renders a text with its headings. Headings get ids from their words, or from those of the
   * English text, so that a link to a part of a page holds in every language.
   */
  block(text: string, english?: string): Block;
  /** Renders a text without headings. */
  html(text: string): Html;
  /** Renders one line, without a paragraph around it. */
  inline(text: string): Html;
}

/**
 * Links that begin with `/` lead to this service: `addressOf` makes an address of such a path. HTML
 * in a text is shown as it is written.
 */
export function createMarkdown(addressOf: (path: string) => string): MarkdownRenderer {
  /** The headings that are still to be rendered. */
  let headings: Heading[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const content = trusted(this.parser.parseInline(tokens));
        return `${headingHtml(depth, content, headings.shift()?.id ?? '').html}\n`;
      },
      code({ text, lang = '' }) {
        return `${codeHtml(null, text, lang).html}\n`;
      },
      link({ href, tokens }) {
        const [path = '', ...hash] = href.split(/(?=#)/);
        const target = href.startsWith('/') ? addressOf(path) + hash.join('') : href;
        const content = trusted(this.parser.parseInline(tokens));
        return html`<a href="${target}">${content}</a>`.html;
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'td' | 'th'): string => {
          const inner = cells.map((cell) => this.parser.parseInline(cell.tokens));
          const open = tag === 'th' ? '<th scope="col">' : '<td>';
          return `<tr>${inner.map((text) => `${open}${text}</${tag}>`).join('')}</tr>`;
        };
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return tableHtml(trusted(row(token.header, 'th')), trusted(body)).html;
      },
      html({ text }) {
        return html`${text}`.html;
      },
    },
  });
  const render = (text: string, listed: readonly Heading[]): Html => {
    headings = [...listed];
    return trusted(marked.parse(text, { async: false }));
  };
  return {
    block: (text, english = text) => {
      const ids = headingsOf(english).map(({ id }) => id);
      const listed = headingsOf(text).map((one, index) => ({ ...one, id: ids[index] ?? one.id }));
      const shown = withoutComments(text);
      return { render: () => render(shown, listed), markdown: shown, headings: listed };
    },
    html: (text) => render(text, headingsOf(text)),
    inline: (text) => trusted(marked.parseInline(text, { async: false })),
  };
}

/** What a guide says to its authors: the checks of its claims, and the id of a heading. */
const COMMENT = /\s*<!--[\s\S]*?-->/g;
/** `## Rotate a key <!-- id: change-a-key -->` keeps the address that the part had before. */
const KEPT_ID = /<!-- id: (\S+) -->/;

export function withoutComments(guide: string): string {
  return guide.replaceAll(COMMENT, '');
}

/** Repeated headings, such as those of a changelog, get an id with that of the section. */
function headingsOf(markdown: string): Heading[] {
  const tokens = new Marked()
    .lexer(markdown)
    .filter((token): token is Tokens.Heading => token.type === 'heading');
  const slugs = tokens.map(({ text }) => KEPT_ID.exec(text)?.[1] ?? slugOf(plainText(text)));
  let section = '';
  return tokens.map(({ depth, text }, index) => {
    const slug = slugs[index] ?? '';
    const isRepeated = slugs.filter((one) => one === slug).length > 1;
    if (depth === 2) section = slug;
    const id = isRepeated && depth > 2 ? `${section}-${slug}` : slug;
    return { level: depth, id, text: plainText(text) };
  });
}

/** Removes the marks of code, emphasis and links. */
function plainText(inline: string): string {
  return withoutComments(inline).replaceAll(/[`*]|\]\([^)]*\)|\[|\]/g, '');
}

/** A table that scrolls on its own on small screens. */
export function tableHtml(head: Html, body: Html | readonly Html[]): Html {
  return html`<div class="table" tabindex="0">
    <table>
      <thead>
        ${head}
      </thead>
      <tbody>
        ${body}
      </tbody>
    </table>
  </div>`;
}
