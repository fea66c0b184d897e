/**
 * A job apart, the work queue with nothing left out (`npm run test:queue`, Linux with Chromium): a thousand commands through four workers
 * and three replicas on PostgreSQL while replicas are killed, a database that is away for a minute, workers that drain, and the same on
 * SQLite with one `gantry start`; watched on the page all the while. Prints a line a scene and ends with 1 when one fails, with 77
 * when something it needs is not here. `GANTRY_SCREENSHOTS` names a folder for pictures of the page.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { chromiumPath } from '../e2e/support/browser.ts';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { endOf, historyOf, writeDown } from '../faults/work-queue/kill/history.ts';
import { type Product, scratchHome, startProduct } from '../support/bench/product.ts';
import { seededRandom } from '../support/kill-loop.ts';
import { type Replicas, startReplicas } from '../support/replicas.ts';
import { personAt } from '../support/signed-in.ts';
import { openQueuePage, type QueuePage } from './queue-page.ts';
import { type Bench, checkEnds, createBench, handIn, tasksOf, type Watched, watchUntilEmpty } from './queue-work.ts';
import { createScenes } from './scenes.ts';

const skipped = 77;
const tasks = 1000;
const workers = 4;
const killEveryMs = [3_000, 6_000] as const;
const limitMs = 15 * 60_000;
const awayMs = 60_000;

const { scene, failed, fail } = createScenes();

const max = (watched: Watched, of: (look: Watched['looks'][number]) => number) => Math.max(...watched.looks.map(of));

function watchedWords(watched: Watched, page: QueuePage): string {
  const { looks } = watched;
  const names = [...new Set(looks.map((look) => look.workers).filter((text) => text !== ''))];
  assert.deepEqual(page.errors(), []);
  return `the page, never loaded again, was looked at ${looks.length} times and showed up to ${max(watched, (look) => look.queued)} waiting and ${max(watched, (look) => look.held)} held, workers as ${names
    .slice(0, 4)
    .map((text) => `"${text}"`)
    .join(', ')}, and at the end nothing left`;
}

/** Each task ended exactly once, by the database's own history. */
async function endedOnce({ postgres, databaseUrl }: Replicas): Promise<void> {
  const over = ['succeeded', 'failed', 'cancelled'];
  const ends = new Map<string, number>();
  const last = new Map<string, string>();
  for (const { id, status } of await historyOf(postgres, databaseUrl)) {
    if (over.includes(status) && !over.includes(last.get(id) ?? '')) ends.set(id, (ends.get(id) ?? 0) + 1);
    assert.ok(!over.includes(last.get(id) ?? '') || last.get(id) === status, `${id} had ended and went on`);
    last.set(id, status);
  }
  for (const { id } of await endOf(postgres, databaseUrl))
    assert.equal(ends.get(id), 1, `${id} ended ${ends.get(id)} times`);
}

/** Kills one after the other, as long as there is something to do. */
async function killInTurn(victims: readonly (() => Promise<void>)[], signal: AbortSignal): Promise<number> {
  const random = seededRandom(3);
  let kills = 0;
  while (!signal.aborted) {
    await delay(killEveryMs[0] + random() * (killEveryMs[1] - killEveryMs[0]), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    await victims[kills % victims.length]!();
    kills += 1;
  }
  return kills;
}

async function thousand(
  bench: Bench,
  page: QueuePage,
  name: string,
  kill: readonly (() => Promise<void>)[],
): Promise<string> {
  await Promise.all(bench.workers.map((worker) => worker.start()));
  const over = new AbortController();
  const killing = killInTurn(kill, over.signal);
  // In the middle of the work, as a person looks.
  const picture = delay(15_000, undefined, { signal: over.signal })
    .then(() => page.picture(name))
    .catch(() => {});
  let watched: Watched;
  try {
    await handIn(bench, 1, tasks);
    watched = await watchUntilEmpty(bench, page, limitMs);
  } finally {
    over.abort();
    await Promise.allSettled([killing, picture]);
  }
  const kills = await killing;
  const { ended, failed: gaveUp, again, twice } = await checkEnds(bench, 1, tasks);
  const surprises = bench.workers.flatMap((worker) => worker.surprises);
  assert.deepEqual(surprises, []);
  const more = twice === 0 ? '' : ` (${twice} of them handed in twice, because the first answer was cut off)`;
  return `${ended} commands ended${more}, ${gaveUp} of them failed as they should, ${again} were leased more than once, through ${kills} kills; ${watchedWords(watched, page)}`;
}

async function stopWorkers(bench: Bench): Promise<string> {
  const codes = await Promise.all(bench.workers.map((worker) => worker.stop()));
  assert.deepEqual(
    codes,
    bench.workers.map(() => 0),
  );
  assert.deepEqual(await bench.left(), []);
  return `${codes.length} workers were told to end and did; no file, process or lease of theirs is left`;
}

async function drained(bench: Bench, from: number, count: number): Promise<string> {
  await handIn(bench, from, from + count - 1);
  const ends = await Promise.all(['drain-1', 'drain-2', 'drain-3', 'drain-4'].map((name) => bench.drain(name)));
  for (const { code, said } of ends) assert.equal(code, 0, said);
  const { ended } = await checkEnds(bench, from, from + count - 1);
  assert.deepEqual(await bench.left(), []);
  return `four workers worked ${ended} commands off and ended by themselves (${ends.map(({ said }) => said.replace(/^Worker /, '')).join(' ')}); no file, process or lease is left`;
}

async function away(cloud: Replicas, bench: Bench, page: QueuePage): Promise<string> {
  const { caller } = bench;
  await Promise.all(bench.workers.map((worker) => worker.start()));
  const seconds = [2, 10, 25, 40, 70];
  const ids: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const payload = { n: -1, command: `sleep ${seconds[n % seconds.length]}; echo done` };
    ids.push((await insistCreate(bench, payload)).id);
  }
  // In the middle of the work: some tasks have ended, some run and some wait.
  await delay(4_000);
  await cloud.postgres.crash();
  const end = performance.now() + awayMs;
  const answers = new Map<string, number>();
  let slowest = 0;
  while (performance.now() < end) {
    const asked = performance.now();
    const answer = await fetch(`${cloud.origin}/beta/work/stats`, {
      headers: { authorization: `Bearer ${bench.key}` },
      signal: AbortSignal.timeout(30_000),
    });
    const body = (await answer.json()) as { message?: string };
    const words = `${answer.status} ${body.message?.replace(/ at \S+/, '')}`;
    answers.set(words, (answers.get(words) ?? 0) + 1);
    slowest = Math.max(slowest, performance.now() - asked);
    if (performance.now() > end - awayMs / 2 && performance.now() < end - awayMs / 2 + 1_100)
      await page.picture('database-away');
    await delay(1_000);
  }
  assert.ok(
    [...answers.keys()].every((words) => words.startsWith('502 ')),
    [...answers.keys()].join(' | '),
  );
  await cloud.postgres.restart();
  const back = performance.now();
  await watchUntilEmpty(bench, page, limitMs);
  const all = (await tasksOf(caller)).filter(({ id }) => ids.includes(id));
  for (const { id, status, result } of all) {
    assert.equal(status, 'succeeded', id);
    assert.equal((result as { stdout: string }).stdout, 'done\n');
  }
  assert.deepEqual(
    cloud.replicas.flatMap((replica) => replica.surprises),
    [],
  );
  assert.deepEqual(
    bench.workers.flatMap((worker) => worker.surprises),
    [],
  );
  const lost = bench.workers.flatMap(({ said }) => said.filter(({ line }) => line.startsWith('lost'))).length;
  const again = all.filter(({ attempts }) => attempts > 1).length;
  const said = [...answers].map(([words, count]) => `${count} × ${words}`).join('; ');
  return `asked each second, it answered ${said} (slowest ${Math.round(slowest)} ms); all ${all.length} commands ended ${((performance.now() - back) / 1000).toFixed(0)} s after it was back, with nothing started anew; ${lost} leases ran out meanwhile and ${again} commands were run again; the page went on by itself`;
}

async function insistCreate({ caller }: Bench, payload: object): Promise<{ id: string }> {
  return caller.call<{ id: string }>('POST', '/beta/work', { payload });
}

/** What has to be closed again, the last first. */
type Opened = (() => Promise<unknown>)[];

async function onPostgres(opened: Opened): Promise<void> {
  const cloud = await startReplicas(3);
  opened.push(() => cloud.close());
  await writeDown(cloud.postgres, cloud.databaseUrl);
  const person = await personAt(cloud.origin);
  const { secret } = await person<{ secret: string }>('POST', '/api/v1/keys', { name: 'work', scopes: ['work'] });
  const bench = createBench(cloud.origin, secret, workers);
  opened.push(() => bench.close());
  const page = await openQueuePage(cloud.origin, { signIn: 'ada' });
  opened.push(() => page.close());
  const kills = cloud.replicas.map((replica) => async () => {
    await replica.kill();
    await replica.start();
  });
  await scene('1,000 commands, four workers, three replicas that are killed in turn', async () => {
    const words = await thousand(bench, page, 'replicas', kills);
    await endedOnce(cloud);
    return `${words}; by the database’s own history each ended exactly once`;
  });
  await scene('Workers that are told to end', () => stopWorkers(bench));
  await scene('gantry worker --drain', () => drained(bench, tasks + 1, 100));
  await scene('A database that is away for a minute', () => away(cloud, bench, page));
  await page.picture('after');
}

async function onSqlite(opened: Opened): Promise<void> {
  const place = scratchHome();
  opened.push(() => place.remove());
  let product: Product = await startProduct(place);
  opened.push(() => product.stop());
  const { port } = new URL(product.origin);
  const wish = { name: 'work', scopes: ['work'] };
  const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', wish);
  const bench = createBench(product.origin, secret, workers);
  opened.push(() => bench.close());
  const page = await openQueuePage(product.url);
  opened.push(() => page.close());
  const kill = async () => {
    await product.kill();
    product = await startProduct(place, { port: Number(port) });
  };
  await scene('The same on SQLite with one gantry start that is killed again and again', () =>
    thousand(bench, page, 'sqlite', [kill]),
  );
  await scene('Workers that are told to end', () => stopWorkers(bench));
  await scene('gantry worker --drain', () => drained(bench, tasks + 1, 100));
}

async function play(part: (opened: Opened) => Promise<void>): Promise<void> {
  const before = failed();
  const opened: Opened = [];
  try {
    await part(opened);
  } catch (error) {
    if (failed() === before) fail('before the first scene', error as Error);
  } finally {
    for (const close of opened.toReversed()) await close();
  }
}

if (process.platform !== 'linux' || !existsSync(chromiumPath)) {
  const needs = `it needs Linux and a Chromium at ${chromiumPath}; GANTRY_CHROMIUM names another`;
  console.error(`SKIPPED, nothing was tried: ${needs}`);
  process.exitCode = skipped;
} else {
  await buildRenderer();
  for (const part of [onPostgres, onSqlite]) await play(part);
  process.exitCode = failed() === 0 ? 0 : 1;
}
