/** Two sinks in separate processes on one cloud.db: the result of a burst, and how long a single event takes. */
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEvents } from '../../../src/cloud-api/events/index.ts';
import { createDeviceStore } from '../../../src/cloud-api/notifications/devices.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { startPushService } from '../../support/push-service.ts';
import { startVictim, type Victim } from '../../support/victim.ts';
import { sinkMigrations } from '../../support/victims/sink.ts';

export const figures: readonly Figure[] = [
  { name: 'notifications.sink', run: burst },
  { name: 'notifications.sink-delay', run: delay },
];

const sinks = 2;
const people = 50;
const program = fileURLToPath(new URL('../../support/victims/sink.ts', import.meta.url));
/** Longer no event waits; what is missing then is counted as lost. */
const patienceMs = 400_000;

interface Floor {
  /** All sinks begin at the same moment. */
  go(): void;
  /** Stores an event of this bot as another process of the cloud does: no sink is woken by it. */
  emit(bots: readonly string[]): Promise<void>;
  /** Pushes that came, by bot. */
  readonly pushed: ReadonlyMap<string, number>;
  /** Pushes by signature: each process signs for itself. */
  readonly bySink: ReadonlyMap<string, number>;
  /** Events by what became of them. */
  outcomes(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** A push service that counts: each bot's events have their own topic, so nothing need be decrypted. */
async function openFloor(): Promise<Floor> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const file = join(folder, 'cloud.db');
  const clock = systemClock;
  const store = await openSharedStore({ databaseUrl: null, file, migrations: sinkMigrations, clock });
  const ids = createIds(clock);
  const { backbone } = createEvents({ store, clock, ids });
  const botOf = new Map<string, string>();
  const pushed = new Map<string, number>();
  const bySink = new Map<string, number>();
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      count(pushed, botOf.get(String(request.headers.topic)) ?? 'unknown');
      count(bySink, String(request.headers.authorization));
      response.writeHead(201).end();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;

  // Keys of real subscriptions; their endpoints are the counting server's.
  const keys = await startPushService();
  const devices = createDeviceStore({ store, clock, ids });
  const users = Array.from({ length: people }, (_, index) => `user_${index}`);
  for (const user of users) {
    const { subscription } = keys.device();
    await devices.add(user, {
      ...subscription,
      endpoint: `http://127.0.0.1:${port}/${user}`,
      name: 'x',
      answers: true,
      sessionId: null,
    });
  }
  await keys.close();

  const processes: Victim[] = [];
  for (let each = 0; each < sinks; each += 1) {
    const sink = startVictim({ command: [process.execPath, program, file, `127.0.0.1:${port}`] });
    processes.push(sink);
    // The first makes the keys that both use.
    await sink.until((line) => line === 'ready');
  }

  return {
    go: () => {
      for (const { child } of processes) child.stdin?.write('go\n');
    },
    pushed,
    bySink,
    async emit(bots) {
      await Promise.all(
        bots.map((bot, index) => {
          botOf.set(hash('sha256', `needs-${bot}`, 'base64url').slice(0, 32), bot);
          const userId = users[index % people]!;
          const data = { reason: 'It asks.', botId: bot };
          return store.write((tx) =>
            backbone.emit(tx, { userId, type: 'thread.needs_user', sourceId: bot, occurredAt: clock.now(), data }),
          );
        }),
      );
    },
    async outcomes() {
      const sql = 'SELECT outcome, count(*) AS n FROM notification GROUP BY outcome';
      const rows = await store.all<{ outcome: string; n: number }>(sql);
      return Object.fromEntries(rows.map(({ outcome, n }) => [outcome, n]));
    },
    async close() {
      for (const each of processes) await each.kill();
      server.closeAllConnections();
      server.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function burst({ quick, log }: FigureOptions): Promise<Measured> {
  const events = quick ? 1_000 : 10_000;
  const floor = await openFloor();
  try {
    const bots = Array.from({ length: events }, (_, index) => `bot_${index}`);
    const began = performance.now();
    await floor.emit(bots);
    const stored = performance.now();
    floor.go();
    while (performance.now() < began + patienceMs) {
      if (floor.pushed.size >= events) break;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const seconds = (performance.now() - began) / 1000;
    log(
      `${Math.round(stored - began)} ms to store, ${seconds.toFixed(1)} s until all were pushed, by ${floor.bySink.size} sinks`,
    );
    // A second push would come with the next look.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    const once = bots.filter((bot) => floor.pushed.get(bot) === 1).length;
    return {
      value: events - once,
      unit: 'events that were not pushed exactly once',
      n: events,
      at: `a burst of ${events} events of ${people} people, stored by a third process, taken by ${sinks} sinks that begin at the same moment, each a process of its own on one cloud.db; one device a person, a local push service counts; claims, outcomes and lanes durable`,
      detail: {
        seconds: Number(seconds.toFixed(1)),
        outcomes: await floor.outcomes(),
        pushesBySink: [...floor.bySink.values()],
      },
    };
  } finally {
    await floor.close();
  }
}

async function delay({ quick }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 2 : 12;
  const floor = await openFloor();
  try {
    const waits: number[] = [];
    floor.go();
    for (let round = 0; round < rounds; round += 1) {
      // At another moment between two looks each time.
      await new Promise((resolve) => setTimeout(resolve, 500 + 250 * (round % 11)));
      const bot = `single_${round}`;
      const began = performance.now();
      await floor.emit([bot]);
      while (!floor.pushed.has(bot) && performance.now() < began + patienceMs) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      waits.push((performance.now() - began) / 1000);
    }
    const sorted = waits.toSorted((a, b) => a - b);
    return {
      value: Number(sorted.at(-1)!.toFixed(2)),
      unit: 's from storing a single event to its push, the longest',
      n: rounds,
      at: `stored by a process without a sink, so that only the look every 3 s finds it; ${sinks} sinks on one cloud.db, a local push service`,
      detail: { median: Number(sorted[Math.floor(rounds / 2)]!.toFixed(2)) },
    };
  } finally {
    await floor.close();
  }
}
