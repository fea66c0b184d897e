/**
 * How tests are found and run. Two projects: `unit` (unit, contract, integration: no browser) and `e2e` (real Chromium).
 * Workers are processes: natives, signals and children of one test file must not meet another's.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Hundreds of starts of the same programs: each reads what V8 compiled for an earlier one. Workers and what they start inherit it. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'node-compile');

const shared = {
  pool: 'forks',
  testTimeout: 30_000,
  hookTimeout: 30_000,
  setupFiles: ['test/support/setup.ts'],
  // What is waited for comes late on a busy machine; how fast it comes is the bench's question.
  expect: { poll: { timeout: 15_000 } },
} as const;

/** What takes longest begins first, so that no file is left to run alone at the end. Seconds on two quiet cores. */
const longFiles: Readonly<Record<string, number>> = {
  'e2e/looks': 100,
  'e2e/reach': 95,
  'e2e/work': 90,
  'e2e/queue': 60,
  'e2e/panes': 50,
  'e2e/inbox': 45,
  'cli/start': 45,
  'harness/claude': 35,
  'worker/built': 25,
  'worker/worker': 25,
  'factory/unreadable': 22,
};
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const length = (file: TestSpecification) =>
      longFiles[file.moduleId.split('/').slice(-2).join('/').replace('.test.ts', '')] ?? 0;
    return [...files].sort((a, b) => length(b) - length(a));
  }
}

export default defineConfig({
  test: {
    // Tests wait for programs more than they work: four at a time fill two cores.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          isolate: false,
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: ['test/e2e/**'],
          globalSetup: ['test/support/postgres-run.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
