// The twins' sides are two files, so that they run beside each other.
import { describeTwin } from './twins.ts';

describeTwin('b');
