import { KEY_PLACEHOLDER } from '../highlight.ts';
import { jsonText } from './literals.ts';
import type { SampleLanguage } from './sample-request.ts';

export const curl: SampleLanguage = {
  id: 'curl',
  label: 'curl',
  grammar: 'bash',
  write: ({ method, url, body, isIdempotent }) => {
    // With a body, curl sends a POST.
    const isDefault = method === 'GET' || (method === 'POST' && body !== null);
    const json = jsonText(body, '  ').replaceAll("'", `'\\''`);
    const options = [
      !isDefault && `-X ${method}`,
      `-H "Authorization: Bearer ${KEY_PLACEHOLDER}"`,
      isIdempotent && '-H "Idempotency-Key: $(openssl rand -hex 16)"',
      body !== null && '-H "Content-Type: application/json"',
      body !== null && `-d '${json}'`,
    ].filter((option) => option !== false);
    return `curl --fail-with-body "${url}" \\\n  ${options.join(' \\\n  ')}\n`;
  },
};
