/** Runs before each test file, even where files share a worker. */
import { afterEach } from 'vitest';
import { fileBegins, testIsOver } from './at-end.ts';

fileBegins();
afterEach(testIsOver);
