import { describeWorstBodies } from './worst-bodies.ts';

describeWorstBodies('whole');
