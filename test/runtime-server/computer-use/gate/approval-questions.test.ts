/** Questions of a person's own computer at the real desk, over a restart. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { capabilities } from '../../../../src/contracts/link/knows.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../../src/kit/lane/create-lanes.ts';
import { laneMigrations } from '../../../../src/kit/lane/migrations.ts';
import { createLedger } from '../../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { createHeldApprovals, holdMigrations } from '../../../../src/runtime-server/approvals/index.ts';
import { type Ask, createApprovals } from '../../../../src/runtime-server/computer-use/approvals.ts';
import { createApprovalQuestions, handsMigrations } from '../../../../src/runtime-server/computer-use/index.ts';
import { createTestClock } from '../../../support/test-clock.ts';

const question = (seen: string): Ask => ({
  title: 'Click',
  words: `on: ${seen}`,
  risk: 'medium',
  runId: null,
  client: 'user_1/key',
  actionHash: 'the same click',
  holderId: 'key:1',
  seen,
  shown: {
    member: 'left_click',
    toolset: 'browser',
    risk: 'medium',
    confirmation_class: 'run',
    approver: 'owner',
  },
});

test.each(['before', 'after'] as const)(
  'a yes that came %s it was asked again over a restart is good for what was seen alone',
  async (when) => {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-desk-'));
    const clock = createTestClock();
    const ids = createIds(clock);
    const migrations = [...ledgerMigrations, ...laneMigrations, ...holdMigrations, ...handsMigrations];
    const store = await openStore({ file: join(folder, 'runtime.db'), migrations, clock });
    onTestFinished(async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const ledger = await createLedger({ store, clock, ids });
    const log = { warn: () => {}, error: () => {} };
    const begin = async () => {
      const { approvals } = createHeldApprovals({
        knows: () => Promise.resolve(new Set(capabilities)),
        cloudAheadMs: () => 0,
        store,
        ledger,
        clock,
        timers: clock,
        ids,
        ownerId: 'user_1',
        log,
        openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
        call: async () => ({ status: 200, body: {} }),
      });
      await approvals.start();
      const held = createApprovals({
        store,
        clock,
        log,
        secret: 'a secret',
        approveUrl: (id: string) => id,
        questions: createApprovalQuestions(approvals),
      });
      await held.expireLeft();
      return { approvals, held };
    };
    const first = await begin();
    const asked = await first.held.ask(question('button "Send"'));
    const second = await begin();
    const answer = () =>
      second.approvals.answer({
        id: asked.id,
        decision: 'approve',
        note: null,
        resolvedBy: { user: 'user_1', surface: 'browser' },
        at: new Date(clock.now()).toISOString(),
      });
    if (when === 'before') expect(await answer()).toBe('applied');
    const other = await second.held.ask(question('button "Delete"'));
    expect([other.id === asked.id, other.state]).toEqual([false, 'pending']);
    if (when === 'after') await answer();
    expect(second.held.state(other.id)).toBe('pending');
    // For what was shown it is still good, once.
    const same = await second.held.ask(question('button "Send"'));
    expect([same.id, same.state]).toEqual([asked.id, 'approved']);
  },
);
