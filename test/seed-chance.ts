// A setup file of Vitest: `npm test` and the smoke tests draw the same values in each run, so that
// a red run can be repeated. The heavy suites draw others each time; fast-check prints their seed.
import { configureGlobal } from 'fast-check';

configureGlobal({ seed: 20_261_201 });
