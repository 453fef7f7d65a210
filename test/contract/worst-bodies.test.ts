import { describeWorstBodies } from './worst-bodies.ts';

describeWorstBodies('sample');
