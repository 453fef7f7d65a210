import { KEY_PLACEHOLDER } from '../highlight.ts';
import { indented, lines } from './lines.ts';
import { literal, singleQuoted, type LiteralStyle } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const STYLE: LiteralStyle = {
  string: singleQuoted,
  key: singleQuoted,
  pair: ' => ',
  object: ['[', ']'],
  list: ['[', ']'],
  words: { true: 'true', false: 'false', null: 'null' },
  trailingComma: true,
  indent: '    ',
};

/** PHP 8 with its extension curl. */
export const php: SampleLanguage = {
  id: 'php',
  label: 'PHP',
  grammar: 'php',
  write: ({ method, url, body, isIdempotent }) => {
    const headers = [
      `'Authorization: Bearer ${KEY_PLACEHOLDER}',`,
      body !== null && `'Content-Type: application/json',`,
      isIdempotent && `'Idempotency-Key: ' . bin2hex(random_bytes(16)),`,
    ];
    return lines([
      '<?php',
      `$curl = curl_init('${url}');`,
      'curl_setopt_array($curl, [',
      method !== 'GET' && `    CURLOPT_CUSTOMREQUEST => '${method}',`,
      '    CURLOPT_RETURNTRANSFER => true,',
      '    CURLOPT_HTTPHEADER => [',
      indented(headers, '        '),
      '    ],',
      body !== null && `    CURLOPT_POSTFIELDS => json_encode(${literal(body, STYLE, '    ')}),`,
      ']);',
      '$response = curl_exec($curl);',
      'if ($response === false) throw new Exception(curl_error($curl));',
      '$status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);',
      'if ($status >= 400) throw new Exception($response);',
      'print_r(json_decode($response, true));',
    ]);
  },
};
