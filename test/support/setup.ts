/** Runs before each test file, even where files share a worker. */
import { afterAll, afterEach } from 'vitest';
import { fileBegins, testIsOver } from './at-end.ts';
import { refuseToEndAll } from './end-nobody-else.ts';
import { measureFile } from './measure-file.ts';

if (process.env.GANTRY_TEST_SECONDS !== undefined) afterAll(measureFile(process.env.GANTRY_TEST_SECONDS));
refuseToEndAll();
fileBegins();
afterEach(testIsOver);
