/** Whom the command line trusts: it sends nothing to a server that has not proved itself. */
import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTokenFile, newToken, writePrivateFile } from '../../src/kit/secrets/token-file.ts';
import { agent, onEnd, run, scratchHome, startEngine } from './support.ts';

/** A stranger on the engine's port: answers everything, notes what it was sent. */
async function startStranger(health: unknown): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(health));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

test.each([
  ['no proof', { ok: true, service: 'gantry-engine', panes: true }],
  ['a wrong proof', { ok: true, service: 'gantry-engine', panes: true, proof: 'ab'.repeat(32) }],
  ['a proof that is no hex', { ok: true, service: 'gantry-engine', panes: true, proof: 'x' }],
])('a stranger on the port with %s never sees the token', async (_name, health) => {
  const stranger = await startStranger(health);
  const places = scratchHome();
  const token = createTokenFile(places.token);
  writePrivateFile(places.url, `${stranger.url}\n`);
  const ran = await run({ GANTRY_HOME: places.home }, ['agents', 'ls', '--json']);
  expect(ran.code).toBe(1);
  expect(ran.json()).toMatchObject({ error: { code: 'refused', fact: expect.stringContaining('sent no token') } });
  expect(stranger.requests.length).toBeGreaterThan(0);
  for (const request of stranger.requests) {
    expect(request.headers.authorization).toBeUndefined();
    expect(JSON.stringify(request.headers) + request.url).not.toContain(token);
  }
});

test('a server that proves another token is refused', async () => {
  const engine = await startEngine({ proof: () => '00'.repeat(32) });
  expect((await run(engine.env, ['agents', 'ls'])).code).toBe(1);
  expect(engine.seen.every((call) => call.token === undefined)).toBe(true);
});

test('the socket is asked first and the port is not needed', async () => {
  const engine = await startEngine({ agents: [agent('web')] });
  writePrivateFile(engine.places.url, 'http://127.0.0.1:1\n');
  expect((await run(engine.env, ['agents', 'ls'])).code).toBe(0);
});

test('where the socket is dead the port is used', async () => {
  const engine = await startEngine({ agents: [agent('web')] });
  rmSync(engine.places.engineSocket);
  expect((await run(engine.env, ['agents', 'ls'])).code).toBe(0);
});

test('a token file that others may read is refused with the command that mends it', async () => {
  const engine = await startEngine();
  chmodSync(engine.places.token, 0o644);
  const ran = await run(engine.env, ['agents', 'ls']);
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('chmod 600');
});

test('a token file that is a link is refused', async () => {
  const engine = await startEngine();
  const other = join(engine.places.home, 'other');
  createTokenFile(other);
  rmSync(engine.places.token);
  symlinkSync(other, engine.places.token);
  expect((await run(engine.env, ['agents', 'ls'])).code).toBe(1);
});

test('inside a bot’s pane the bot’s own token is used, not the owner’s', async () => {
  const botToken = `gbot_${newToken()}`;
  const engine = await startEngine({ agents: [agent('web')], botToken });
  const tokenFile = join(engine.places.run, 'bot-token');
  createTokenFile(tokenFile, botToken);
  const env = {
    ...engine.env,
    GANTRY_TOKEN_FILE: tokenFile,
    GANTRY_URL_FILE: engine.places.url,
    GANTRY_PANE: 'pane_1',
  };
  expect((await run(env, ['agents', 'ls'])).code).toBe(0);
  expect(engine.seen.map((call) => call.token)).toEqual([undefined, `Bearer ${botToken}`]);
  // What is the person's alone stays so.
  expect((await run(env, ['teams', 'down', 'demo'])).code).toBe(1);
});

test('inside a bot’s pane a missing engine is named for a bot', async () => {
  const places = scratchHome();
  createTokenFile(places.token);
  writePrivateFile(places.url, 'http://127.0.0.1:1\n');
  const env = { GANTRY_HOME: places.home, GANTRY_TOKEN_FILE: places.token, GANTRY_URL_FILE: places.url };
  const ran = await run(env, ['agents', 'ls']);
  expect(ran.code).toBe(3);
  expect(ran.err).toContain('Ask the person');
});
