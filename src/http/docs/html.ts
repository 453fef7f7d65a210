/** Safe HTML. Only {@link html} makes it, so all other text is escaped before it reaches a page. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * A template whose values are escaped, except values that are `Html`. Put attribute values in
 * quotes: escaping does not protect unquoted ones.
 */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  return { html: String.raw({ raw: parts }, ...values.map(toText)) };
}

/** Plain text to HTML; backticks mark code. */
export function withCode(text: string): Html[] {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

function toText(value: string | number | Html | readonly Html[]): string {
  if (typeof value === 'string' || typeof value === 'number')
    return String(value).replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
  return 'html' in value ? value.html : value.map((part) => part.html).join('');
}
