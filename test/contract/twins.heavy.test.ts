// Both sides of the twins with every operation, alone and beside a sandbox.
import { describe } from 'vitest';
import { describeTwin } from './twins.ts';

describe('of two teams, the first', () => {
  describeTwin('a', 'whole');
});
describe('of two teams, the second', () => {
  describeTwin('b', 'whole');
});
describe('beside its sandbox, the live team', () => {
  describeTwin('a', 'whole', { hasSandbox: true });
});
describe('beside its live team, the sandbox', () => {
  describeTwin('b', 'whole', { hasSandbox: true });
});
