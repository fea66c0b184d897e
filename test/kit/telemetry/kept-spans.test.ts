import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createKeptSpans } from '../../../src/kit/telemetry/kept-spans.ts';
import { traceMigrations } from '../../../src/kit/telemetry/migrations.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const hour = 3_600_000;

async function open(most?: number) {
  const clock = createTestClock();
  const store = await openStore({ file: join(scratchFolder(), 'runtime.db'), migrations: traceMigrations, clock });
  let reserved = 0;
  const telemetry = {
    reserve() {
      reserved += 1;
      return `00-${'a'.repeat(32)}-${String(reserved).padStart(16, '0')}-01`;
    },
    past() {},
  };
  const spans = await createKeptSpans({
    store,
    clock,
    timers: clock,
    telemetry,
    ...(most === undefined ? {} : { most }),
  });
  onTestFinished(async () => {
    spans.close();
    await store.close();
  });
  const subjects = () =>
    store.read((tx) =>
      tx.all<{ subject: string }>('SELECT subject FROM trace_span ORDER BY subject').map((row) => row.subject),
    );
  return {
    clock,
    spans,
    subjects,
    begin: (subject: string) => store.write((tx) => spans.begin(tx, subject, 'step', null)),
    end: (subject: string) => store.write((tx) => spans.end(tx, subject, {})),
  };
}

test('spans older than thirty days are removed while the process runs, also from its memory', async () => {
  const { clock, spans, subjects, begin, end } = await open();
  await begin('node:old');
  await end('node:old');
  await clock.advance(29 * 24 * hour);
  await begin('node:new');
  expect(await subjects()).toEqual(['node:new', 'node:old']);
  await clock.advance(25 * hour);
  await expect.poll(subjects).toEqual(['node:new']);
  expect(spans.of('node:old')).toBeNull();
  expect(spans.of('node:new')).not.toBeNull();
});

test('of too many spans the oldest that have ended are removed; one that is still open is kept', async () => {
  const { clock, subjects, begin, end } = await open(3);
  await begin('node:open');
  for (const n of [1, 2, 3, 4]) {
    await clock.advance(1000);
    await begin(`node:${n}`);
    await end(`node:${n}`);
  }
  await clock.advance(hour);
  await expect.poll(subjects).toEqual(['node:3', 'node:4', 'node:open']);
  // The next look finds nothing more to remove.
  await clock.advance(hour);
  expect(await subjects()).toHaveLength(3);
});
