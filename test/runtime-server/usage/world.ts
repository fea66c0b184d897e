/** Metering on a real database with a moved clock; bots, nodes and queues are what a test says they are. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { UsageLimit, UsageLine } from '../../../src/runtime-server/harness/usage.ts';
import { createModels } from '../../../src/runtime-server/models/index.ts';
import type { MeteredBot } from '../../../src/runtime-server/usage/deps.ts';
import { createHolds } from '../../../src/runtime-server/usage/holds.ts';
import { createMetering } from '../../../src/runtime-server/usage/index.ts';
import { createTestClock } from '../../support/test-clock.ts';

export const noon = Date.parse('2026-11-22T12:00:00Z');
const workspace = '/home/user/project';

type Bot = { -readonly [K in keyof MeteredBot]: MeteredBot[K] } & { limit: UsageLimit | null };

export async function openWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-metering-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = createTestClock(noon);
  const bots = new Map<string, Bot>();
  const transcripts = new Map<string, UsageLine[]>();
  const said: string[] = [];
  const told: { address: string; text: string; key: string }[] = [];
  const asked: string[] = [];
  const reported: { id: string; microUsd: number | null }[] = [];
  const unblocked: string[] = [];
  /** Bots whose node was cut off. */
  const cut = new Map<string, boolean>();
  /** Addresses of bots whose node has a budget. */
  const budgeted = new Set<string>();
  const keys = new Set<string>();
  /** Bots that were held at the last restart before anything began. */
  const heldAtLoad: string[] = [];

  const begin = async () => {
    const listeners = new Set<(agentId: string) => void>();
    const store = await openStore({ file: join(folder, 'runtime.db'), migrations: runtimeMigrations, clock });
    const models = createModels({
      env: {},
      clock,
      timers: clock,
      random: () => 0,
      spent: (_, { id, microUsd }) => void reported.push({ id, microUsd }),
    });
    const ids = createIds(clock);
    const holds = createHolds();
    const metering = createMetering({
      holds,
      store,
      ledger: await createLedger({ store, clock, ids }),
      clock,
      timers: clock,
      log: { warn: (message, facts) => said.push(`${message} ${JSON.stringify(facts)}`) },
      random: () => 0.5,
      workspace,
      models,
      harnesses: {
        usage: async ({ agentId }, cursor) => {
          const lines = transcripts.get(agentId);
          if (lines === undefined) return null;
          const from = typeof cursor?.at === 'number' ? cursor.at : 0;
          return { lines: lines.slice(from), cursor: { at: lines.length }, more: false };
        },
      },
      bots: {
        all: () => [...bots.values()],
        find: (name) => [...bots.values()].find(({ id, address }) => id === name || address === name) ?? null,
        onState: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        limit: (agentId) => bots.get(agentId)?.limit ?? null,
        modelHold: () => null,
        unblock(agentId) {
          unblocked.push(agentId);
          state(agentId, 'idle');
        },
      },
      accounts: {
        limited: (_, limit) => limit.until,
        hasOther: () => false,
        take: async () => null,
        freed() {},
      },
      nodes: {
        limited: (address, _why, waits) => void cut.set(address, waits),
        goOn: async (address) => cut.delete(address),
        isCounted: (address) => budgeted.has(address),
      },
      async tell(address, text, key) {
        if (keys.has(key)) return;
        keys.add(key);
        told.push({ address, text, key });
      },
      needsPerson: (_tx, _bot, reason) => void asked.push(reason),
      changed() {},
    });
    const state = (agentId: string, next: AgentState, limit: UsageLimit | null = null) => {
      const bot = bots.get(agentId);
      if (bot === undefined) throw new Error(`There is no bot ${agentId}.`);
      bot.state = next;
      bot.limit = limit;
      for (const listener of listeners) listener(agentId);
    };
    return { store, models, metering: { ...metering, ...holds }, state };
  };

  let now = await begin();
  const world = {
    clock,
    told,
    asked,
    reported,
    unblocked,
    cut,
    budgeted,
    heldAtLoad,
    transcripts,
    get metering() {
      return now.metering;
    },
    get store() {
      return now.store;
    },
    bot(id: string, more: Partial<Bot> = {}) {
      const [slug, team] = [id, 'red'];
      bots.set(id, {
        id,
        address: `${slug}@${team}`,
        team,
        harness: 'claude',
        account: 'claude/default',
        state: 'idle',
        limit: null,
        ...more,
      });
    },
    state: (agentId: string, next: AgentState, limit: UsageLimit | null = null) => now.state(agentId, next, limit),
    /** Its harness writes an answer into its transcript. */
    said(agentId: string, line: Partial<UsageLine> & { id: string }) {
      const lines = transcripts.get(agentId) ?? [];
      transcripts.set(agentId, lines);
      const counts = { input: 1_000_000, cachedInput: 0, cacheWrite: 0, output: 0, cents: null };
      lines.push({
        at: clock.now(),
        ...counts,
        ...line,
        model: line.model ?? 'claude-haiku-4-5',
      });
    },
    /** A turn that costs this much. */
    async turn(agentId: string, id: string, cents: number) {
      world.state(agentId, 'working');
      world.said(agentId, { id, cents });
      world.state(agentId, 'idle');
      await clock.advance(4000);
    },
    call: async <T>(op: string, input: { params?: object; query?: object; body?: object } = {}): Promise<T> => {
      const bound = now.metering.routes.find(({ route }) => route.op === op);
      if (bound === undefined) throw new Error(`No route ${op}.`);
      const request = {
        params: {},
        query: {},
        principal: { kind: 'owner', userId: 'user_local', via: 'file-token' },
        ...input,
      };
      const answer = (await (bound.handler as (given: unknown) => Promise<{ body: unknown }>)(request)) as { body: T };
      return answer.body;
    },
    async restart(asleepMs = 0) {
      await now.metering.close();
      await now.store.close();
      clock.jump(asleepMs);
      now = await begin();
      await now.metering.load();
      await clock.advance(0);
      // Who is held is known before anything is delivered, and nobody goes on before runs are taken up.
      const known = now.metering.held;
      heldAtLoad.splice(0, heldAtLoad.length, ...[...bots.keys()].filter((id) => known(id) !== null));
      now.metering.start();
      await clock.advance(0);
    },
  };
  onTestFinished(async () => {
    await now.metering.close();
    await now.store.close();
  });
  return {
    world,
    start: async () => {
      await now.store.write((tx) => {
        for (const { id, team } of bots.values()) {
          tx.run(
            `INSERT INTO factory_agent (id, workspace, team, slug, created_at, state, since) VALUES (?, ?, ?, ?, ?, 'idle', ?)`,
            ...[id, workspace, team, id, noon, noon],
          );
          tx.run('INSERT INTO factory_pane (id, agent_id, started_at) VALUES (?, ?, ?)', `pane_${id}`, id, noon);
        }
      });
      await now.metering.load();
      now.metering.start();
      await clock.advance(0);
    },
    warnings: said,
  };
}
