/**
 * How tests are found and run. Three projects: `unit` (unit, contract, integration: no browser), `e2e` (real Chromium), and `suites`, what
 * a plain `npm test` has no time for, by measure: `npm run faults` and `npm test -- all` run it.
 * Workers are processes: natives, signals and children of one test file must not meet another's.
 */
import { closeSync, globSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { filesApart, type Seconds, type TestFile } from './scripts/apart.ts';

/** Hundreds of starts of the same programs: each reads what V8 compiled for an earlier one. Workers and what they start inherit it. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'node-compile');

const shared = {
  pool: 'forks',
  // What is waited for comes late on a busy machine; how fast it comes is the bench's question. Only a test that fails takes so long.
  testTimeout: 240_000,
  hookTimeout: 240_000,
  setupFiles: ['test/support/setup.ts'],
  expect: { poll: { timeout: 45_000 } },
} as const;

/** Most of these start whole programs. */
const startsPrograms = /\/test\/(?:e2e|contract|docs|integration)\//;

/** The test files that took longest last time begin first, so that no long one is left to run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const milliseconds = new Map(files.map((file) => [file, this.measured(file) ?? guessed(file)]));
    return files.toSorted((a, b) => (milliseconds.get(b) ?? 0) - (milliseconds.get(a) ?? 0));
  }

  /** As vitest remembers it in node_modules/.vite. */
  private measured(file: TestSpecification): number | undefined {
    return this.ctx.cache.getTestSpecificationResult(file)?.duration;
  }
}

/** Before the first run of a file: a millisecond for each byte, and a minute more for programs. */
function guessed({ moduleId }: TestSpecification): number {
  return statSync(moduleId).size + (startsPrograms.test(moduleId) ? 60_000 : 0);
}

/**
 * CPU seconds that the test files of a plain `npm test` may take together (test/seconds.json). The longest files beyond it run in `npm test -- all`
 * only, as do those whose first line is `// Runs apart: why`. A file whose first line is `// Runs always: why` stays.
 */
const budget = 310;

const suites = filesApart(testFiles(), JSON.parse(readFileSync('test/seconds.json', 'utf8')) as Seconds, budget);

function testFiles(): TestFile[] {
  return globSync('test/**/*.test.{ts,tsx}').map((path) => ({ path, firstLine: firstLineOf(path) }));
}

function firstLineOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(200);
    return bytes.toString('utf8', 0, readSync(file, bytes)).split('\n', 1)[0] ?? '';
  } finally {
    closeSync(file);
  }
}

export default defineConfig({
  test: {
    // Tests wait for programs about as long as they work: four at a time fill two cores. With more, those that start programs wait for each other.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          isolate: false,
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: ['test/e2e/**', ...suites],
          globalSetup: ['test/support/postgres-run.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'e2e',
          isolate: false,
          include: ['test/e2e/**/*.test.ts'],
          exclude: suites,
        },
      },
      {
        test: {
          ...shared,
          name: 'suites',
          isolate: false,
          include: suites,
          globalSetup: ['test/support/postgres-run.ts'],
        },
      },
    ],
  },
});
