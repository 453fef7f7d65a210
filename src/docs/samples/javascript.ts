import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { literal, singleQuoted, type LiteralStyle } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const STYLE: LiteralStyle = {
  string: singleQuoted,
  key: (name) => (/^[a-z_$][\w$]*$/i.test(name) ? name : singleQuoted(name)),
  pair: ': ',
  object: ['{', '}'],
  list: ['[', ']'],
  words: { true: 'true', false: 'false', null: 'null' },
  trailingComma: true,
  indent: '  ',
};

/** A module for Node 20 or newer, Deno and Bun. It is valid TypeScript, too. */
export const javascript: SampleLanguage = {
  id: 'javascript',
  label: 'JavaScript',
  grammar: 'javascript',
  write: ({ method, url, body, isIdempotent }) => {
    const headers = [
      `Authorization: 'Bearer ${KEY_PLACEHOLDER}',`,
      body !== null && `'Content-Type': 'application/json',`,
      isIdempotent && `'Idempotency-Key': crypto.randomUUID(),`,
    ];
    return lines([
      `const response = await fetch('${url}', {`,
      method !== 'GET' && `  method: '${method}',`,
      '  headers: {',
      indented(headers, '    '),
      '  },',
      body !== null && `  body: JSON.stringify(${literal(body, STYLE, '  ')}),`,
      '});',
      'if (!response.ok) throw new Error(await response.text());',
      'console.log(await response.json());',
    ]);
  },
};
