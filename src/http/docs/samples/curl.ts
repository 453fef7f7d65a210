import { KEY_PLACEHOLDER } from '../highlight.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

export const curl: SampleLanguage = {
  id: 'curl',
  label: 'curl',
  grammar: 'bash',
  write: ({ method, url, body, isIdempotent }) => {
    const isDefault = method === 'GET' || (method === 'POST' && body !== null);
    const options = [
      ...(isDefault ? [] : [`-X ${method}`]),
      `-H "Authorization: Bearer ${KEY_PLACEHOLDER}"`,
      ...(isIdempotent ? ['-H "Idempotency-Key: $(openssl rand -hex 16)"'] : []),
      ...(body === null
        ? []
        : [
            '-H "Content-Type: application/json"',
            `-d '${jsonText(body, '  ').replaceAll("'", `'\\''`)}'`,
          ]),
    ];
    return `curl --fail-with-body "${url}" \\\n  ${options.join(' \\\n  ')}\n`;
  },
};
