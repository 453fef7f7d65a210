/** What the page that opens a link decides: see `handover.ts`. */
import type { SANDBOX_END } from '../core/sandbox.ts';
import type { Content } from './lib/sealing.ts';

/** How the id of a sandbox ends. */
const OF_SANDBOX: typeof SANDBOX_END = ':sandbox';

/** Where the service opens links. `pathname`: of this page. */
export function openerAddress(pathname: string): string {
  return `${pathname.replace(/\/+$/, '')}/open`;
}

/** What an answer without content says. */
export function failureOf(status: number): 'gone' | 'busy' | 'failed' {
  if (status === 404) return 'gone';
  return status === 429 ? 'busy' : 'failed';
}

/** What is said beside a secret of a sandbox. */
export function testNotesOf(
  { secret, kind = 'key' }: Pick<Content, 'secret' | 'kind'>,
  teamId: string,
): {
  readonly kind: 'key' | 'endpoint';
  readonly testKey: boolean;
  readonly testEndpoint: boolean;
} {
  return {
    kind,
    testKey: secret.startsWith('svck_test_'),
    testEndpoint: kind === 'endpoint' && teamId.endsWith(OF_SANDBOX),
  };
}
