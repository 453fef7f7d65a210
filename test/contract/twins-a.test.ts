// Each side of the twins has a file, so that both run in parallel.
import { describeTwin } from './twins.ts';

describeTwin('a');
