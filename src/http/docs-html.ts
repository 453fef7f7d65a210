/** Text that is HTML already. Only {@link html} makes it, so whatever else reaches a page is escaped. */
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

/** HTML with values escaped; a value that is HTML, or a list of it, stands as it is. Attributes must be in quotes. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Html | readonly Html[])[]
): Html {
  return { html: String.raw({ raw: parts }, ...values.map(toText)) };
}

/** Text of the catalogue, where `…` marks code. */
export function withCode(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

function toText(value: string | number | Html | readonly Html[]): string {
  if (typeof value === 'string' || typeof value === 'number')
    return String(value).replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
  return 'html' in value ? value.html : value.map((part) => part.html).join('');
}
