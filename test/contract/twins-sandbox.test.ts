// A live team beside its sandbox, which has the same ids, and the other way round.
import { describe } from 'vitest';
import { describeTwin } from './twins.ts';

describe('the live team', () => {
  describeTwin('a', 'sample', { hasSandbox: true });
});
describe('the sandbox', () => {
  describeTwin('b', 'sample', { hasSandbox: true });
});
