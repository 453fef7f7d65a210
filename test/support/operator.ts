import { readArguments } from '../../scripts/operator/arguments.ts';
import { perform, type Performed } from '../../scripts/operator/perform.ts';
import { TEST_APP_SECRET, type TestApi } from './api.ts';

/** Performs a command of operators in this process, where its locks are looked at, too. */
export function performHere(
  { db, url }: Pick<TestApi, 'db' | 'url'>,
  ...args: string[]
): Promise<Performed> {
  const wanted = readArguments(args);
  if (typeof wanted === 'string') throw new Error(wanted);
  const secrets = { current: TEST_APP_SECRET, previous: null };
  return perform({ db, secrets, publicUrl: url, keyPerMinute: 100 }, wanted, () => true);
}
