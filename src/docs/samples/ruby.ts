import { KEY_PLACEHOLDER } from '../highlight.ts';
import { lines } from './lines.ts';
import { literal, type LiteralStyle } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

const STYLE: LiteralStyle = {
  // `#{…}` in double quotes would be code.
  string: (text) => JSON.stringify(text).replaceAll('#', '\\#'),
  key: (name) => (/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name)),
  pair: ': ',
  object: ['{', '}'],
  list: ['[', ']'],
  words: { true: 'true', false: 'false', null: 'nil' },
  trailingComma: false,
  indent: '  ',
};

/** Ruby 3 with its own library. */
export const ruby: SampleLanguage = {
  id: 'ruby',
  label: 'Ruby',
  grammar: 'ruby',
  write: ({ method, url, body, isIdempotent }) => {
    const type = method.charAt(0) + method.slice(1).toLowerCase();
    return lines([
      'require "json"',
      'require "net/http"',
      isIdempotent && 'require "securerandom"',
      '',
      `uri = URI("${url}")`,
      `request = Net::HTTP::${type}.new(uri)`,
      `request["Authorization"] = "Bearer ${KEY_PLACEHOLDER}"`,
      body !== null && 'request["Content-Type"] = "application/json"',
      isIdempotent && 'request["Idempotency-Key"] = SecureRandom.uuid',
      body !== null && `request.body = JSON.generate(${literal(body, STYLE)})`,
      '',
      'response = Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") do |http|',
      '  http.request(request)',
      'end',
      'raise response.body unless response.is_a?(Net::HTTPSuccess)',
      'puts JSON.parse(response.body)',
    ]);
  },
};
