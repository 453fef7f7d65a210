/** Safe HTML. Only {@link html} and {@link trusted} make it, so all other text is escaped. */
export interface Html {
  readonly html: string;
}

export type HtmlValue = string | number | Html | readonly Html[] | null;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * A template whose values are escaped, except values that are `Html`. null writes nothing. Put
 * attribute values in quotes: escaping does not protect unquoted ones.
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return { html: String.raw({ raw: parts }, ...values.map(toText)) };
}

/** HTML that a library has made and escaped: Markdown, highlighted code. */
export function trusted(text: string): Html {
  return { html: text };
}

function toText(value: HtmlValue): string {
  if (value === null) return '';
  if (typeof value === 'string' || typeof value === 'number')
    return String(value).replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
  return 'html' in value ? value.html : value.map((part) => part.html).join('');
}
