import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { engineWords, openEngine, statusOf } from '../../../src/kit/docker/engine.ts';

async function listen(answer: RequestListener): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-engine-'));
  const socket = join(folder, 'd.sock');
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });
  return socket;
}

/** `soon`: where no answer comes; a busy machine needs longer for one. */
async function faultOf(socket: string, ask: 'asks' | 'follows' = 'asks', soon = false): Promise<unknown> {
  const engine = await openEngine({ socket, within: soon ? 200 : 60_000 });
  const asked = ask === 'asks' ? engine.asks.ping() : engine.follows.getEvents();
  return asked.then(
    () => null,
    (fault: unknown) => fault,
  );
}

test('a socket that hangs is given up, by questions and by those who follow', async () => {
  const socket = await listen(() => {});
  for (const ask of ['asks', 'follows'] as const) {
    const fault = await faultOf(socket, ask, true);
    expect(statusOf(fault)).toBe(null);
    expect(engineWords(socket, fault)).toBe(
      `The container engine at ${socket} did not answer in time, or closed the connection.`,
    );
  }
});

test('an answer that stops in the middle is given up', async () => {
  const socket = await listen((_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' }).write('{"half":');
  });
  expect(engineWords(socket, await faultOf(socket, 'asks', true))).toContain('did not answer in time');
});

test('a host that the environment names for Docker does not take the place of the socket', async () => {
  vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:1');
  onTestFinished(() => void vi.unstubAllEnvs());
  const socket = await listen((_, answer) => void answer.end('OK'));
  expect(await faultOf(socket)).toBe(null);
});

test('an answer that lasts goes on after the deadline', async () => {
  let end = () => {};
  const socket = await listen((_, answer) => {
    answer.writeHead(200).flushHeaders();
    end = () => answer.end('{"status":"start"}\n');
  });
  const { follows } = await openEngine({ socket, within: 3_000 });
  const events = await follows.getEvents();
  // Nothing else says that the deadline, which must not be noticed, has passed.
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  end();
  const heard: string[] = [];
  for await (const chunk of events) heard.push(String(chunk));
  expect(heard.join('')).toContain('start');
});

test('an engine that is away, or refuses, is told in a sentence with what it said', async () => {
  expect(engineWords('/nowhere/d.sock', await faultOf('/nowhere/d.sock'))).toBe(
    'No container engine runs here (/nowhere/d.sock).',
  );
  const socket = await listen((_, answer) => {
    answer.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"no space left on device"}');
  });
  const fault = await faultOf(socket);
  expect(statusOf(fault)).toBe(500);
  expect(engineWords(socket, fault)).toBe('The container engine answered: no space left on device.');
});
