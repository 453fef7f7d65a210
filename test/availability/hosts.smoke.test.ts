// @module-tag never-repeated
import { describeHosts } from './lost-primary.ts';

describeHosts('is killed');
