/** The whole program as `gantry start` runs it, in a scratch folder with a real pane host. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../src/contracts/common/errors.ts';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { type Call, caller, onEnd } from '../kit/http/support.ts';
import { scratchHome } from './support.ts';

const env = (home: string) => ({ ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' });

async function start(home: string, more: Record<string, string> = {}): Promise<Combined & { call: Call }> {
  const variables = { ...env(home), ...more };
  const combined = await startCombined({
    env: variables,
    settings: readSettings(variables),
    gantry: 'npx gantry',
    answers: 'throw',
  });
  onEnd(() => combined.close({ stopBots: true }));
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  return { ...combined, call: caller(Number(new URL(combined.origin).port), token) };
}

function scratch(): string {
  return scratchHome();
}

async function upDemo(call: Call): Promise<{ id: string; pane: { id: string } }[]> {
  const up = await call('POST', '/api/factory/teams/demo/up', { body: {} });
  expect(up.status).toBe(200);
  const { agents } = (await call('GET', '/api/factory/agents')).json as never as { agents: never[] };
  return agents;
}

test('a start in an empty folder makes private files, a workspace with the sample, and answers through every door', async () => {
  const home = scratch();
  const gantry = await start(home);
  const places = placesIn(home);
  for (const folder of [home, places.run, places.logs]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of [places.token, places.computer, places.url, places.holder, places.runtimeDb, places.cloudDb]) {
    expect([file, statSync(file).mode & 0o077]).toEqual([file, 0]);
  }
  expect(readFileSync(places.url, 'utf8').trim()).toBe(gantry.engineUrl);
  expect(JSON.parse(readFileSync(places.holder, 'utf8'))).toMatchObject({ pid: process.pid, address: gantry.origin });
  expect(gantry.workspaceCreated).toBe(true);
  const web = await gantry.call('GET', '/api/factory/health');
  expect(web.json).toMatchObject({ ok: true, panes: true });
  const engine = caller(Number(new URL(gantry.engineUrl).port), null);
  expect((await engine('GET', '/api/factory/health')).json).toMatchObject({ ok: true });
  expect((await engine('GET', '/api/factory/health', { socketPath: gantry.engineSocket })).json).toMatchObject({
    ok: true,
  });
});

test('a second instance is refused with the first one’s process and address, and leaves it alone', async () => {
  const home = scratch();
  const first = await start(home);
  const refusal = await start(home).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(AppError);
  expect(refusal).toMatchObject({ code: 'refused', fact: expect.stringContaining(`process ${process.pid}`) });
  expect((refusal as AppError).fact).toContain(first.origin);
  expect((await first.call('GET', '/api/factory/health')).status).toBe(200);
});

test.each(['GANTRY_PORT', 'GANTRY_ENGINE_PORT'])(
  'with %s taken the start is a transport error in one sentence and leaves nothing',
  async (name) => {
    const home = scratch();
    const squatter = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    onEnd(async () => void squatter.close());
    const { port } = squatter.address() as { port: number };
    const failed = await start(home, { [name]: String(port) }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'transport', fact: `Port ${port} is taken.` });
    const places = placesIn(home);
    const named = [places.url, places.engineSocket, places.holder, places.runtimeDb];
    for (const left of [...named, places.lastWorkspace, places.defaultWorkspace]) {
      expect([left, existsSync(left)]).toEqual([left, false]);
    }
    const again = await start(home);
    expect(again.workspaceCreated).toBe(true);
    expect((await again.call('GET', '/api/factory/health')).status).toBe(200);
  },
);

test('a start that fails on its way leaves no pane host behind, and the next one goes on', async () => {
  const home = scratch();
  await (await start(home)).close();
  const places = placesIn(home);
  writeFileSync(places.cloudDb, 'this is no database');
  await expect(start(home)).rejects.toMatchObject({ fact: expect.stringContaining(places.cloudDb) });
  // The host of the failed start was asked for and may come up late: it must have come, and ended.
  const said = (word: string) => readFileSync(join(places.logs, 'pane-host.log'), 'utf8').split(` ${word}`).length - 1;
  await expect.poll(() => [said('started,'), said('ended:')]).toEqual([2, 2]);
  expect((await (await start(home)).call('GET', '/api/factory/health')).json).toMatchObject({ panes: true });
});

test('closing ends streams with a last event and removes what names the servers, while bots live on', async () => {
  const home = scratch();
  const first = await start(home);
  const [agent] = await upDemo(first.call);
  expect(first.liveBots()).toBe(3);
  const authorization = `Bearer ${readFileSync(placesIn(home).token, 'utf8').trim()}`;
  // Resolves once the stream is open.
  const open = (path: string) => fetch(`${first.origin}/api/factory/${path}`, { headers: { authorization } });
  const streams = [await open('events'), await open(`agents/${agent!.id}/stream`)];
  await first.close();
  for (const stream of streams) {
    expect([stream.status, await stream.text()]).toEqual([
      200,
      expect.stringMatching(/event: closing\ndata: \{"reason":"Gantry is stopping\."\}\n\n$/),
    ]);
  }
  const places = placesIn(home);
  for (const left of [places.url, places.engineSocket, places.holder]) expect(existsSync(left)).toBe(false);
  await expect(first.call('GET', '/api/factory/health')).rejects.toThrow('ECONNREFUSED');

  const second = await start(home);
  expect(second.liveBots()).toBe(3);
  const { agents } = (await second.call('GET', '/api/factory/agents')).json as never as { agents: (typeof agent)[] };
  expect(agents.find((each) => each?.id === agent!.id)?.pane).toEqual(agent!.pane);
  await second.close({ stopBots: true });
  const third = await start(home);
  expect(third.liveBots()).toBe(0);
});

test('after kill -9 the next start takes over the folder, the sockets and the running bots', async () => {
  const home = scratch();
  const script = join(home, 'run.ts');
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).pathname);
  writeFileSync(
    script,
    `import { startCombined } from ${source('host/combined.ts')};
import { readSettings } from ${source('host/settings.ts')};
const combined = await startCombined({ env: process.env, settings: readSettings(process.env), gantry: 'gantry' });
console.log(JSON.stringify({ origin: combined.origin }));
setInterval(() => {}, 1000);`,
  );
  const child = spawn(process.execPath, [script], { env: env(home), stdio: ['ignore', 'pipe', 'inherit'] });
  onEnd(async () => void child.kill('SIGKILL'));
  const line = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
  const { origin } = JSON.parse(line) as { origin: string };
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  const agents = await upDemo(caller(Number(new URL(origin).port), token));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  expect(existsSync(placesIn(home).engineSocket)).toBe(true);

  const next = await start(home);
  expect(next.liveBots()).toBe(3);
  const text = await next.call('GET', `/api/factory/agents/${agents[0]!.id}/capture`);
  expect(text.status).toBe(200);
});

test('the last workspace is used again; Gantry’s own checkout never is', async () => {
  const home = scratch();
  const other = scratch();
  const own = new URL('../..', import.meta.url).pathname;
  const variables = env(home);
  const settings = readSettings(variables);
  const inCheckout = startCombined({ env: variables, settings, gantry: 'gantry', workspace: own });
  await expect(inCheckout).rejects.toMatchObject({ code: 'usage' });
  const first = await startCombined({ env: variables, settings, gantry: 'gantry', workspace: other });
  await first.close();
  const second = await start(home);
  expect(second.workspace).toBe(other);
  expect(second.workspaceCreated).toBe(false);
});
