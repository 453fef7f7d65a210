import { describeHosts } from './lost-primary.ts';

describeHosts('hangs');
