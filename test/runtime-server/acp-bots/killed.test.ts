/** What is known of a message whose delivery was cut off by the end of the runtime: nothing was closed, written or told in time. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { systemClock as clock } from '../../../src/kit/clock/clock.ts';
import { systemTimers as timers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createAcpBots } from '../../../src/runtime-server/acp-bots/index.ts';
import type { BotSpec, Outgoing } from '../../../src/runtime-server/harness/harness.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { askAlways, createPeople } from '../harness/people.ts';
import { standIn, waits } from './support.ts';

async function openBots() {
  const work = scratchFolder();
  const store = await openStore({ file: join(work, 'runtime.db'), migrations: runtimeMigrations, clock });
  const ids = createIds(clock);
  const ledger = await createLedger({ store, clock, ids });
  const told: string[] = [];
  const command = [process.execPath, standIn] as const;
  const open = () =>
    createAcpBots({
      ...{ store, ledger, clock, timers, ids, workspace: work },
      log: console,
      approvals: createPeople(),
      policy: askAlways,
      prepare: async () => ({
        ...{ command, env: {}, cwd: work, signIns: [], asksIn: null, missingIsEmpty: false },
        held: () => () => {},
        mcpServers: () => [],
        close: async () => {},
      }),
      threadOf: () => 'thread_1',
      async reply(_agent, _thread, text) {
        told.push(text);
      },
    });
  const spec: BotSpec = {
    agentId: 'agent_1',
    slug: 'dev',
    team: 'crew',
    harness: 'acp',
    model: null,
    command: command.join(' '),
    cwd: work,
    env: {},
    culture: null,
  };
  const started: ReturnType<typeof open>[] = [];
  onTestFinished(async () => {
    for (const bots of started) await bots.close();
    await store.close();
  });
  /** As the next runtime does, while nothing has closed the one before. */
  const start = async () => {
    const bots = open();
    started.push(bots);
    await bots.recover();
    const bot = bots.attach(spec);
    await vi.waitFor(() => expect(bot.gate()).toEqual({ open: true }), waits);
    return { bots, bot };
  };
  return { work, start, told };
}

const message = (deliveryId: string, text: string): Outgoing => ({
  ...{ deliveryId, text, senderLine: 'From owner', replyLine: null, raw: false },
});

/** The sessions that the stand-in keeps. */
const sessions = (work: string) =>
  readdirSync(join(work, '.stand-in-acp')).map((name) => join(work, '.stand-in-acp', name));
const sessionText = (work: string) =>
  sessions(work)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');

function forget(work: string, words: string): void {
  for (const file of sessions(work)) writeFileSync(file, readFileSync(file, 'utf8').replaceAll(words, 'another'));
}

test('a message that the agent’s session holds is verified after the restart, and one that it lacks stays unknown', async () => {
  const { work, start } = await openBots();
  const first = await start();
  void first.bot.deliver(message('delivery_silent', 'wait-for never silently'));
  // Its session has it: the stand-in keeps what it is told before it does anything.
  const kept = async () => (await first.bots.page('agent_1', {})).entries.length;
  await vi.waitFor(async () => expect(await kept()).toBe(1), waits);
  await vi.waitFor(() => expect(sessionText(work)).toContain('delivery_silent'), waits);
  const next = await start();
  expect(await next.bot.resume(message('delivery_silent', 'wait-for never silently'))).toEqual({
    state: 'verified',
    evidence: 'acp',
  });
  forget(work, 'delivery_silent');
  const last = await start();
  expect(await last.bot.resume(message('delivery_silent', 'wait-for never silently'))).toBeNull();
  // What was never handed over is handed over now.
  expect(await last.bot.resume(message('delivery_new', 'hello'))).toEqual({ state: 'verified', evidence: 'acp' });
}, 60_000);

test('an answer that its thread was not told before the end is told after it, once', async () => {
  const { start, told } = await openBots();
  const first = await start();
  expect(await first.bot.deliver(message('delivery_1', 'hang'))).toEqual({ state: 'verified', evidence: 'acp' });
  const { bots } = await start();
  await bots.tellUnanswered();
  await bots.tellUnanswered();
  expect(told).toEqual([expect.stringContaining('Gantry stopped during this turn')]);
}, 60_000);
