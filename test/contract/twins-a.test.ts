// Each side of the twins has a file, so that both run in parallel. An operation is tried on one side.
import { describeTwin } from './twins.ts';

describeTwin('a', 'sample');
