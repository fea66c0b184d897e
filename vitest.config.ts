/**
 * How tests are found and run. Two projects: `unit` (unit, contract, integration: no browser) and `e2e` (real Chromium).
 * Workers are processes: natives, signals and children of one test file must not meet another's.
 */
import { defineConfig } from 'vitest/config';

const shared = {
  pool: 'forks',
  testTimeout: 30_000,
  hookTimeout: 30_000,
  isolate: true,
  // What is waited for comes late on a busy machine; how fast it comes is the bench's question.
  expect: { poll: { timeout: 15_000 } },
} as const;

export default defineConfig({
  test: {
    // Tests wait for programs more than they work: three at a time fill two cores.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts', 'test/**/*.test.tsx'],
          exclude: ['test/e2e/**'],
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
