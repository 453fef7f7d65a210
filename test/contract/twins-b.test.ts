// Each side of the twins has a file, so that both run in parallel. Each operation has one side.
import { describeTwin } from './twins.ts';

describeTwin('b', 'sample');
