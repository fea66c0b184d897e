/** `GET /metrics` of the two servers of one computer: who may read it, what is in it, and what never is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitingApprovals } from '../../src/cloud-api/approvals/store.ts';
import { byLabelMetrics, queueFigures } from '../../src/cloud-api/work-queue/figures.ts';
import { cloudMigrations } from '../../src/host/cloud-migrations.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { readSettings } from '../../src/host/settings.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import type { SharedStore } from '../../src/kit/store/shared-store.ts';
import type { Store } from '../../src/kit/store/store.ts';
import { waitingSince } from '../../src/runtime-server/approvals/index.ts';
import { liveLeases } from '../../src/runtime-server/work-engine/leases.ts';
import { openSteps } from '../../src/runtime-server/workflows/store/runs.ts';
import { caller, onEnd } from '../kit/http/support.ts';
import { recording } from '../support/plans.ts';
import { scratchFolder } from '../support/scratch.ts';
import { scratchHome } from './support.ts';

async function start() {
  const home = scratchHome();
  const env = { ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  const gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  onEnd(() => gantry.close({ stopBots: true }));
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  const [web, engine] = [gantry.origin, gantry.engineUrl].map((url) => Number(new URL(url).port)) as [number, number];
  return { web, engine, token };
}

/** Name of each series with its labels, and its value. */
const seriesIn = (text: string) =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

test('the owner reads the figures of both servers, and nobody else does', async () => {
  const { web, engine, token } = await start();
  for (const port of [web, engine]) {
    const owner = caller(port, token);
    expect((await owner('POST', '/api/factory/teams/demo/up', { body: {} })).status).toBe(200);
    const reply = await owner('GET', '/metrics');
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect((await caller(port, null)('GET', '/metrics')).status).toBe(401);
    expect((await caller(port, 'made-up')('GET', '/metrics')).status).toBe(401);
  }
  const runtime = seriesIn((await caller(engine, token)('GET', '/metrics')).text);
  const bots = [...runtime].filter(([name]) => name.startsWith('gantry_bots{'));
  expect(bots.reduce((sum, [, value]) => sum + value, 0)).toBeGreaterThan(0);
  expect(runtime.get('gantry_panes{state="alive"}')).toBeGreaterThan(0);
  expect(runtime.get('gantry_lane_items{lanes="sends"}')).toBeDefined();
  expect(runtime.get('gantry_store_write_seconds_count')).toBeGreaterThan(0);
  expect(runtime.get('gantry_event_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
  expect(runtime.get('gantry_approvals_waiting{age="1m"}')).toBe(0);
  const cloud = seriesIn((await caller(web, token)('GET', '/metrics')).text);
  expect(cloud.get('gantry_work_tasks{state="queued"}')).toBe(0);
  expect(cloud.get('gantry_http_requests_total{status="401"}')).toBe(2);
});

test('what waits in the queue is counted, with the age of the oldest', async () => {
  const { web, token } = await start();
  const owner = caller(web, token);
  for (const n of [1, 2, 3]) {
    expect((await owner('POST', '/beta/work', { body: { payload: { n } } })).status).toBe(201);
  }
  expect((await owner('GET', '/beta/work/queue?worker_id=w1&wait=0')).status).toBe(200);
  const series = seriesIn((await owner('GET', '/metrics')).text);
  expect(series.get('gantry_work_tasks{state="queued"}')).toBe(2);
  expect(series.get('gantry_work_tasks{state="leased"}')).toBe(1);
  expect(series.get('gantry_work_oldest_seconds')).toBeGreaterThan(0);
});

test('no figure of a scrape walks a table to its end: each read has a limit, or goes along an index', async () => {
  const asked: { readonly sql: string; readonly store: Store }[] = [];
  for (const [migrations, read] of [
    [runtimeMigrations, readRuntime],
    [cloudMigrations, readCloud],
  ] as const) {
    const file = join(scratchFolder(), 'some.db');
    const store = await openStore({ file, migrations, clock: systemClock });
    onEnd(() => store.close());
    const recorded = recording(shareStore(store));
    await read(recorded.store);
    for (const sql of recorded.asked.keys()) asked.push({ sql, store });
  }
  expect(asked).toHaveLength(9);
  for (const { sql, store } of asked) {
    const plan = await store.read((tx) => tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...nulls(sql)));
    const scans = plan.filter(({ detail }) => detail.startsWith('SCAN') && !/LIMIT \d+/.test(sql));
    expect([sql, scans]).toEqual([sql, []]);
  }
});

const nulls = (sql: string) => Array.from(sql.matchAll(/\?/g), () => null);
/** The runtime's reads, through a store that records what they ask. */
const readRuntime = (store: SharedStore) =>
  store.read(function* (tx) {
    for (const read of [waitingSince, (one: Reads) => openSteps(one, '/w'), (one: Reads) => liveLeases(one, '/w', 0)]) {
      const sql: string[] = [];
      const note = (text: string) => {
        sql.push(text);
        return [];
      };
      read({ all: note, get: (text: string) => void note(text) } as unknown as Reads);
      for (const text of sql) yield* tx.all(text, ...nulls(text));
    }
  });
async function readCloud(store: SharedStore): Promise<void> {
  await waitingApprovals(store, 0);
  await queueFigures(store, 0);
  for (const { read } of byLabelMetrics(store, systemClock)) await read();
}
type Reads = Parameters<typeof waitingSince>[0] & Parameters<typeof openSteps>[0];
