/** The lines between two `---` at the beginning of a Markdown file, and the text below them. */
export interface Sheet {
  /** By name, for instance `title`. A value goes on in the indented lines that follow. */
  readonly facts: ReadonlyMap<string, string>;
  /** Without comments, which are for who edits the file. */
  readonly text: string;
}

const SHEET = /^---\n(.*?)\n---\n+/s;
const FACT = /^(\w[^:\n]*):((?:.*)(?:\n +.*)*)$/gm;
const COMMENT = /\n?[ \t]*<!--.*?-->/gs;

export function readSheet(source: string): Sheet {
  const [head = '', facts = ''] = SHEET.exec(source) ?? [];
  return {
    facts: new Map(
      [...facts.matchAll(FACT)].map(([, name = '', value = '']) => [
        name,
        value.replaceAll(/\s+/g, ' ').trim(),
      ]),
    ),
    text: source
      .slice(head.length)
      .replaceAll(COMMENT, '')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim(),
  };
}
