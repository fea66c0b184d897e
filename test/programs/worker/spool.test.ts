/** Results that the queue has not taken: kept on disk, reported by the next worker, each once, and never in place of somebody else's. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openSpool } from '../../../src/programs/worker/spool.ts';
import { startWorker, type WorkerEvent, type WorkerOptions } from '../../../src/programs/worker/worker.ts';
import { startQueue, type TestQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { startVictim } from '../../support/victim.ts';

const keeping = fileURLToPath(new URL('../../support/victims/keeping-worker.ts', import.meta.url));
/** A process number that no process has: Linux gives none above 4,194,304. */
const gone = '4999999-abc';

/** The queue's address, behind which it takes no reports while it is `away`. */
async function addressOf(q: TestQueue): Promise<{ readonly url: string; away: boolean }> {
  const state = { url: '', away: true };
  const server = createServer((incoming, answer) => {
    if (state.away && /\/(ack|stop)$/.test(incoming.url ?? '')) return void incoming.socket.destroy();
    const { url: path, method } = incoming;
    const headers = { ...incoming.headers, host: `127.0.0.1:${q.server.port}` };
    const passed = request({ host: '127.0.0.1', port: q.server.port, path, method, headers }, (reply) => {
      answer.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

function begin(url: string, folder: string, more: Partial<WorkerOptions> & { key?: string } = {}) {
  const events: WorkerEvent[] = [];
  const key = more.key ?? 'ada';
  const worker = startWorker({
    url,
    key,
    workerId: 'w2',
    run: async () => 'again',
    random: () => 0.01,
    untilEmpty: true,
    spool: openSpool(folder, { key }),
    tell: (event) => events.push(event),
    ...more,
  });
  onTestFinished(async () => {
    worker.abort();
    await worker.ended.catch(() => {});
  });
  return { worker, events };
}

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());

/** A worker did the task and was killed before the queue took the result. */
async function killedWithResult(q: TestQueue, folder: string, url: string): Promise<string> {
  const { id } = await q.create();
  const victim = startVictim({ command: [process.execPath, keeping, url, 'ada', folder] });
  onTestFinished(() => void victim.kill());
  await victim.until((line) => line === 'trouble');
  await victim.kill();
  expect((await q.task(id)).status).not.toBe('succeeded');
  expect(filesBelow(folder)).toHaveLength(1);
  return id;
}

describe.each(engines.map((engine) => [engine.name, engine] as const))('on %s', (_, engine) => {
  test('a worker killed while the queue is away loses no result: the next one reports it, and nothing runs twice', async () => {
    const q = await startQueue(engine, { real: true });
    const folder = scratchFolder();
    const address = await addressOf(q);
    const id = await killedWithResult(q, folder, address.url);
    address.away = false;
    const { worker, events } = begin(address.url, folder);
    expect(await worker.ended).toMatchObject({ delivered: 1, succeeded: 0, lost: 0 });
    expect(events).toContainEqual({ kind: 'delivered', taskId: id });
    expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 1, result: { of: id } });
    expect(filesBelow(folder)).toEqual([]);
  });

  test('a result kept while another worker took the task over changes nothing', async () => {
    const q = await startQueue(engine, { real: true, leaseMs: 1_500 });
    const folder = scratchFolder();
    const address = await addressOf(q);
    const id = await killedWithResult(q, folder, address.url);
    await expect.poll(async () => (await q.lease('other')).task?.id).toBe(id);
    // However long the worker takes to come, the other one still has the task.
    const beats = setInterval(() => void q.post(`/${id}/heartbeat`, { worker_id: 'other' }), 300);
    onTestFinished(() => clearInterval(beats));
    address.away = false;
    const { worker, events } = begin(address.url, folder, { untilEmpty: false, waitSeconds: 0 });
    await expect.poll(() => events.map(({ kind }) => kind)).toContain('outdated');
    worker.abort();
    expect(await worker.ended).toMatchObject({ delivered: 0 });
    expect(await q.task(id)).toMatchObject({ result: null, attempts: 2 });
    expect(filesBelow(folder)).toEqual([]);
  });
});

test('one that drains while the queue is away ends, and keeps what it did', async () => {
  const q = await startQueue(engines[0]!, { real: true });
  const folder = scratchFolder();
  const address = await addressOf(q);
  const { id } = await q.create();
  const { worker, events } = begin(address.url, folder, { run: async () => 'done once', untilEmpty: false });
  await expect.poll(() => events.map(({ kind }) => kind)).toContain('trouble');
  worker.drain();
  expect(await worker.ended).toMatchObject({ kept: 1, lost: 0, succeeded: 0 });
  address.away = false;
  expect(await begin(address.url, folder).worker.ended).toMatchObject({ delivered: 1 });
  expect(await q.task(id)).toMatchObject({ status: 'succeeded', result: 'done once', attempts: 1 });
});

test('a worker does not touch what another that runs keeps', () => {
  const folder = scratchFolder();
  const here = openSpool(folder, { key: 'ada' });
  const kept = here.keep({ taskId: 'task_1', verb: 'ack', body: { result: 1 } });
  // Process 1 runs as long as the computer does.
  mkdirSync(join(folder, '1-abc'));
  writeFileSync(join(folder, '1-abc', '000000000000001.json'), readFileSync(kept.file));
  mkdirSync(join(folder, gone));
  writeFileSync(join(folder, gone, '000000000000001.json'), readFileSync(kept.file));
  here.remove(kept);
  expect(here.adopt().reports.map(({ report }) => report.taskId)).toEqual(['task_1']);
  expect(readdirSync(folder).sort()).toEqual(['1-abc', here.folder.split('/').at(-1)!].sort());
});

test('damaged, huge and foreign files, links and pipes are set aside or left, and stop no worker', async () => {
  const q = await startQueue(engines[0]!, { real: true });
  const folder = scratchFolder();
  const address = await addressOf(q);
  address.away = false;
  const of = join(folder, gone);
  mkdirSync(of);
  const write = (name: string, text: string) => writeFileSync(join(of, `00000000000000${name}.json`), text);
  write('1', '{"v":1,"taskId":"task_1"');
  write('2', JSON.stringify({ v: 2, taskId: 'task_1', verb: 'ack', body: {}, key: 'x', at: 1 }));
  write('3', '');
  truncateSync(join(of, '000000000000003.json'), 5 * 1024 * 1024);
  symlinkSync('/etc/passwd', join(of, '000000000000004.json'));
  execFileSync('mkfifo', [join(of, '000000000000005.json')]);
  const { worker, events } = begin(address.url, folder);
  expect(await worker.ended).toMatchObject({ delivered: 0, lost: 0 });
  expect(events.filter(({ kind }) => kind === 'damaged')).toHaveLength(5);
});

test('a report of another key that the queue refuses stays for its own worker, for a week', async () => {
  const clock = createTestClock();
  const folder = scratchFolder();
  openSpool(folder, { key: 'ada', clock }).keep({ taskId: 'task_1', verb: 'ack', body: {} });
  const [kept] = openSpool(folder, { key: 'bob', clock }).adopt().reports;
  const bobs = openSpool(folder, { key: 'bob', clock });
  expect(bobs.isForeign(kept!)).toBe(true);
  clock.jump(8 * 24 * 60 * 60_000);
  expect(bobs.isForeign(kept!)).toBe(false);
  expect(openSpool(folder, { key: 'ada', clock }).isForeign(kept!)).toBe(false);
});

test('the key is in no file', async () => {
  const q = await startQueue(engines[0]!, { real: true });
  const folder = scratchFolder();
  const address = await addressOf(q);
  await killedWithResult(q, folder, address.url);
  const [file] = filesBelow(folder);
  const text = readFileSync(join(file!.parentPath, file!.name), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ verb: 'ack', body: { worker_id: 'w1' } });
  expect(text).not.toMatch(/"ada"/);
});
