/** Run before each file of tests, also where files share a worker. */
import { afterEach } from 'vitest';
import { fileBegins, testIsOver } from './at-end.ts';

fileBegins();
afterEach(testIsOver);
