/** JSON values as literals of the languages that samples are written in. */

/** How a language writes a value. */
export interface LiteralStyle {
  readonly string: (text: string) => string;
  readonly key: (name: string) => string;
  /** Between a key and its value. */
  readonly pair: string;
  readonly object: readonly [open: string, close: string];
  readonly list: readonly [open: string, close: string];
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  /** Whether a comma follows the last entry. */
  readonly trailingComma: boolean;
  readonly indent: string;
}

/** Writes the value over several lines. Lines after the first begin with `margin`. */
export function literal(value: unknown, style: LiteralStyle, margin = ''): string {
  if (typeof value === 'string') return style.string(value);
  if (typeof value === 'number') return String(value);
  if (value === true || value === false || value === null)
    return style.words[String(value) as 'true'];
  const inner = margin + style.indent;
  const [entries, [open, close]] = Array.isArray(value)
    ? [value.map((entry) => literal(entry, style, inner)), style.list]
    : [
        Object.entries(value as object).map(
          ([name, entry]) => style.key(name) + style.pair + literal(entry, style, inner),
        ),
        style.object,
      ];
  if (entries.length === 0) return open + close;
  const isShort = Array.isArray(value) && entries.join(', ').length < 60;
  if (isShort) return `${open}${entries.join(', ')}${close}`;
  const end = style.trailingComma ? ',' : '';
  return `${open}\n${entries.map((entry) => inner + entry).join(',\n')}${end}\n${margin}${close}`;
}

/** In single quotes, as JavaScript, PHP and others write it. */
export function singleQuoted(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n');
  return `'${escaped}'`;
}

/** In double quotes, with the escapes that JSON shares with most languages. */
export function doubleQuoted(text: string): string {
  return JSON.stringify(text);
}

const JSON_STYLE: LiteralStyle = {
  string: doubleQuoted,
  key: doubleQuoted,
  pair: ': ',
  object: ['{', '}'],
  list: ['[', ']'],
  words: { true: 'true', false: 'false', null: 'null' },
  trailingComma: false,
  indent: '  ',
};

/** JSON over several lines. Lines after the first begin with `margin`. */
export function jsonText(value: unknown, margin = ''): string {
  return literal(value, JSON_STYLE, margin);
}
