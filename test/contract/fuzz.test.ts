import { describeFuzz } from './fuzz.ts';

describeFuzz(1_000);
