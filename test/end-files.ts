// A setup file of Vitest: each file ends what it started.
import { afterAll } from 'vitest';
import { endFile } from './support/at-end.ts';

afterAll(endFile);
