/**
 * How tests are found and run. Three projects: `unit` (unit, contract, integration: no browser), `e2e` (real Chromium), and `suites`, what
 * `npm test` has no time for: `npm run faults` and `npm test -- all` run it.
 * Workers are processes: natives, signals and children of one test file must not meet another's.
 */
import { statSync } from 'node:fs';
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

/** Whole areas walked in a browser, real browsers and computers driven, and loops that kill, cut, fill and throw dice. */
const suites = [
  'test/e2e/{computers,connectors,dev,every-page,looks,new-run,panes,phone,phone-calls,queue,reach,schedules,tools,window-events,work}.test.ts',
  'test/programs/{executor,computer-host,worker}/**/*.test.ts',
  'test/cli/{start,pairing,cloud-database,disk-full}.test.ts',
  'test/main/whole.test.ts',
  'test/programs/pane-host/hibernate-emulator.test.ts',
  'test/scripts/bootstrap.test.ts',
  'test/examples/computer-use.test.ts',
  'test/tools/carrier-simulator/durability.test.ts',
  'test/programs/converter/{fuzz,archive,formats/harmless}.test.ts',
  'test/{support/kill-loop,kit/store/disk,contract/fuzz}.test.ts',
  'test/{integration,host}/replicas.test.ts',
  'test/host/{hosted-computers,remote-bots,backup/damaged}.test.ts',
  'test/cloud-api/{events-replicas,others}.test.ts',
  'test/cloud-api/work-queue/{database-away,plans-million,transitions}.test.ts',
  'test/cloud-api/phone/calls/{restart,random}.test.ts',
  'test/cloud-api/phone/numbers/{keep,lasting}.test.ts',
  'test/cloud-api/phone/registration/{trouble,lasting,sharing}.test.ts',
  'test/runtime-server/approvals/approvals-kill.test.ts',
  'test/runtime-server/computer-use/{gate/engine,planner/intent,runs/real}.test.ts',
  'test/runtime-server/agents/{unreadable,host-restart}.test.ts',
  'test/runtime-server/peers/{clone,remote/remote}.test.ts',
  'test/runtime-server/panes/{hand-over,re-attach}.test.ts',
  'test/runtime-server/policy/command-line.test.ts',
  'test/runtime-server/quick-runs/quick-runs.test.ts',
  'test/runtime-server/workflows/schedules/kill.test.ts',
  'test/runtime-server/tool-server/servers/chaos.test.ts',
  'test/runtime-server/workflows/find-fix-prove.test.ts',
];

export default defineConfig({
  test: {
    // Tests wait for programs more than they work: six at a time fill two cores.
    maxWorkers: 6,
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
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'suites',
          isolate: false,
          include: suites,
          globalSetup: ['test/support/postgres-run.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Many of them start whole programs, next to others that do.
          expect: { poll: { timeout: 45_000 } },
        },
      },
    ],
  },
});
