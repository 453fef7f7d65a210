import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { doubleQuoted, literal, type LiteralStyle } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const STYLE: LiteralStyle = {
  string: doubleQuoted,
  key: doubleQuoted,
  pair: ': ',
  object: ['{', '}'],
  list: ['[', ']'],
  words: { true: 'True', false: 'False', null: 'None' },
  trailingComma: true,
  indent: '    ',
};

/** Python 3 with its own library. */
export const python: SampleLanguage = {
  id: 'python',
  label: 'Python',
  grammar: 'python',
  write: ({ method, url, body, isIdempotent }) => {
    const headers = [
      `"Authorization": "Bearer ${KEY_PLACEHOLDER}",`,
      body !== null && `"Content-Type": "application/json",`,
      isIdempotent && `"Idempotency-Key": str(uuid.uuid4()),`,
    ];
    return lines([
      'import json',
      isIdempotent && 'import uuid',
      'from urllib.request import Request, urlopen',
      '',
      'request = Request(',
      `    "${url}",`,
      `    method="${method}",`,
      '    headers={',
      indented(headers, '        '),
      '    },',
      body !== null && `    data=json.dumps(${literal(body, STYLE, '    ')}).encode(),`,
      ')',
      'with urlopen(request) as response:',
      '    print(json.load(response))',
    ]);
  },
};
