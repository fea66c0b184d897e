/** When a bot that needs its person is told of: its states are given here, the rows are real. */
import { expect, test } from 'vitest';
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import { factoryMigrations } from '../../../src/host/factory/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createNeeds } from '../../../src/runtime-server/agents/needs.ts';
import type { Member } from '../../../src/runtime-server/agents/registry.ts';
import { ensureAgent, saveShown } from '../../../src/runtime-server/agents/store/agents.ts';
import { terminalPlacement } from '../../../src/runtime-server/agents/terminal/placement.ts';
import type { AgentStateChange } from '../../../src/runtime-server/events/event-tail.ts';
import { onEnd } from '../../kit/http/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

async function open() {
  const clock = createTestClock();
  const store = await openStore({ file: `${scratchFolder()}/runtime.db`, migrations: factoryMigrations, clock });
  onEnd(() => store.close());
  await store.write((tx) => ensureAgent(tx, { id: 'agent_1', workspace: '/w', team: 't', slug: 'a', at: 0 }));
  const told: string[] = [];
  let asking = false;
  let now = { state: 'idle' as AgentState, reason: null as string | null, since: 0 };
  const begin = async () => {
    const listeners = new Set<(change: AgentStateChange) => void>();
    const needs = createNeeds({
      registry: {
        onState: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        find: () => ({ id: 'agent_1', shown: now, placement: terminalPlacement }) as Member,
      },
      events: { emit: (_tx, bot, { type, data }) => void told.push(`${type} ${bot} ${JSON.stringify(data)}`) },
      store,
      timers: clock,
      log: { warn: (message) => void told.push(message) },
      asks: () => asking,
    });
    await needs.start();
    return {
      close: () => needs.close(),
      async show(state: AgentState, reason: string | null = null) {
        now = { state, reason, since: clock.now() };
        await store.write((tx) => saveShown(tx, 'agent_1', now));
        for (const listener of [...listeners]) listener({ agentId: 'agent_1', state, pane: null });
      },
    };
  };
  return {
    clock,
    told,
    begin,
    asks: (is: boolean) => {
      asking = is;
    },
  };
}

test('a dialog that is answered at once is not told, one that stays is told once, and the next one again', async () => {
  const { clock, told, begin } = await open();
  const { show } = await begin();
  await show('needs_you', 'a dialog');
  await clock.advance(1_900);
  await show('working');
  await clock.advance(5_000);
  expect(told).toEqual([]);
  await show('needs_you', 'a dialog');
  await clock.advance(1_000);
  await show('needs_you', 'another dialog');
  await clock.advance(1_000);
  expect(told).toEqual(['thread.needs_user agent_1 {"reason":"another dialog"}']);
  await show('needs_you', 'a third dialog');
  await clock.advance(5_000);
  expect(told).toHaveLength(1);
  await show('idle');
  await show('needs_you', 'x'.repeat(600));
  await clock.advance(2_000);
  expect(told[1]).toBe(`thread.needs_user agent_1 {"reason":"${'x'.repeat(500)}"}`);
});

test('what waits as an approval is told by that alone', async () => {
  const { clock, told, begin, asks } = await open();
  const { show } = await begin();
  asks(true);
  await show('needs_you', 'asks');
  await clock.advance(5_000);
  expect(told).toEqual([]);
});

test('after a restart a bot that was in need is not told again, until it has been something else', async () => {
  const { clock, told, begin } = await open();
  const first = await begin();
  await first.show('needs_you', 'a dialog');
  await clock.advance(2_000);
  expect(told).toHaveLength(1);
  first.close();
  const second = await begin();
  await second.show('starting');
  await second.show('needs_you', 'a dialog');
  await clock.advance(5_000);
  expect(told).toHaveLength(1);
  await second.show('working');
  await second.show('needs_you', 'a dialog');
  await clock.advance(2_000);
  expect(told).toHaveLength(2);
});
