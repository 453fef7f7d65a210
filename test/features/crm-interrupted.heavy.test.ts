// Each transaction of a synchronization fails once, before or after its COMMIT.
import { CUTS } from '../support/commit-proxy.ts';
import { testInterruptions } from '../support/crm/interruptions.ts';

const each = CUTS.map((cut) => ({ cut, first: 1, step: 1 }));
testInterruptions({ hubspot: each, pipedrive: each });
