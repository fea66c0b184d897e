/** The package `@gantry/client`: made, installed from its tarball in an empty folder without a network, and used from there, typed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startQueue } from '../cloud-api/work-queue/support.ts';
import { engines } from '../support/engines.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'gantry-client-package-'));
const place = join(folder, 'program');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(() => {
  const script = join(root, 'scripts', 'client-package.ts');
  const tarball = execFileSync(process.execPath, [script, folder], { encoding: 'utf8' }).trim();
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }));
  // A registry that nobody answers for: what the tarball lacks cannot be had.
  const words = ['install', tarball, '--offline', '--no-audit', '--no-fund', '--registry=http://127.0.0.1:9/'];
  execFileSync('npm', [...words, `--cache=${join(folder, 'cache')}`], { cwd: place, stdio: 'pipe' });
}, 300_000);

/** Runs a program in that folder and answers the JSON that it prints. */
async function runProgram(text: string, env: Record<string, string>): Promise<unknown> {
  writeFileSync(join(place, 'program.js'), text);
  const child = spawn(process.execPath, ['program.js'], { cwd: place, env: { PATH: process.env.PATH, ...env } });
  const said = { out: '', err: '' };
  child.stdout.on('data', (part) => {
    said.out += String(part);
  });
  child.stderr.on('data', (part) => {
    said.err += String(part);
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(said.err);
  return JSON.parse(said.out);
}

test('a task goes through the queue with the installed package', async () => {
  const sqlite = engines.find(({ name }) => name === 'sqlite')!;
  const q = await startQueue(sqlite, { real: true });
  const told = await runProgram(
    `import { AppError, createGantry } from '@gantry/client';
    const { queue } = createGantry({ baseUrl: process.env.URL, token: 'ada' });
    const { id } = await queue.createTask({ body: { payload: { command: 'true' }, labels: { gpu: 'a100' } } });
    const none = await queue.leaseTask({ query: { worker_id: 'w1', images: 'none' } });
    const { task, lease } = await queue.leaseTask({ query: { worker_id: 'w1', labels: 'gpu=a100' } });
    await queue.ackTask({ params: { id }, body: { worker_id: 'w1', lease_id: lease.id, result: 1 } });
    const { outcome } = await queue.waitForTask({ params: { id } });
    const fault = await queue.getTask({ params: { id: 'task_none' } }).catch((error) => error);
    console.log(JSON.stringify([none.task, task.id === id, outcome, fault instanceof AppError, fault.code]));`,
    { URL: `http://127.0.0.1:${q.server.port}` },
  );
  expect(told).toEqual([null, true, 'met', true, 'not_found']);
});

test('computers, runs, approvals and events are asked at their addresses, with the key', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    if (request.headers.accept === 'text/event-stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('event: team.up\nid: 1\ndata: {"a":1}\n\n');
    } else response.writeHead(200, { 'content-type': 'application/json' }).end('{"said":"yes"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const told = await runProgram(
    `import { createGantry } from '@gantry/client';
    const gantry = createGantry({ baseUrl: process.env.URL, token: 'key' });
    const answers = [await gantry.computers.listHostedComputers(), await gantry.runs.listTemplates(), await gantry.approvals.listApprovals()];
    const event = await new Promise((resolve) => {
      const stream = gantry.events.factoryEvents({}, { onEvent: (event) => { stream.close(); resolve(event); } });
    });
    console.log(JSON.stringify([answers, event]));`,
    { URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  );
  const said = { said: 'yes' };
  expect(told).toEqual([[said, said, said], { event: 'team.up', id: '1', data: { a: 1 } }]);
  expect(asked.map((line) => line.replace(/\?\S*/, ''))).toEqual(
    ['/v1/computers', '/api/factory/templates', '/api/factory/approvals', '/api/factory/events'].map(
      (path) => `GET ${path} Bearer key`,
    ),
  );
});

test('the installed types know the calls, and refuse what a route does not take', () => {
  const program = (body: string) => `import { createGantry, type Task } from '@gantry/client';
    const gantry = createGantry({ baseUrl: 'http://127.0.0.1:3010', token: 'key' });
    export async function ask(): Promise<Task> {
      const { task } = await gantry.queue.createTask({ body: ${body} });
      return task;
    }
    export const computers = gantry.computers.listHostedComputers;
    export const status: Promise<string> = ask().then((task) => task.status);`;
  const compile = (body: string) => {
    writeFileSync(join(place, 'typed.ts'), program(body));
    const words = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,dom'];
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    return spawnSync(process.execPath, [tsc, ...words, '--types', '', 'typed.ts'], { cwd: place, encoding: 'utf8' });
  };
  expect(compile(`{ payload: { command: 'true' }, retry: { on: ['exit_*'] } }`)).toMatchObject({
    stdout: '',
    status: 0,
  });
  expect(compile(`{ payload: { command: 'true' }, retries: 3 }`).stdout).toContain("'retries'");
});

test('it is not published, and brings along no more than it uses', () => {
  const manifest = JSON.parse(readFileSync(join(place, 'node_modules/@gantry/client/package.json'), 'utf8'));
  expect(manifest).toMatchObject({ name: '@gantry/client', private: true, bundleDependencies: ['zod'] });
  expect(Object.keys(manifest.dependencies)).toEqual(['zod']);
});
