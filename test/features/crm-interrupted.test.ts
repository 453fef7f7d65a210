// Transactions of a synchronization fail, before or after their COMMIT: a sample of those that
// `crm-interrupted.heavy.test.ts` has.
import { testInterruptions } from '../support/crm/interruptions.ts';

testInterruptions({
  hubspot: [
    { cut: 'before', first: 2, step: 14 },
    { cut: 'after', first: 5, step: 14 },
  ],
  pipedrive: [
    { cut: 'before', first: 4, step: 14 },
    { cut: 'after', first: 1, step: 14 },
  ],
});
