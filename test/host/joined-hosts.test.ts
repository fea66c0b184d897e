// Runs apart: it makes namespaces, networks and processes of the whole computer.
/**
 * A computer host that joins a cloud in another network: it dials, and its computers are made, called and deleted over that link. While it is away they
 * are out of reach and nothing else, and they go on when it is back.
 */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ToolsetResult } from '../../src/contracts/computer-use/toolset.ts';
import type { HostedComputer } from '../../src/contracts/hosted-computers/computer.ts';
import type { ComputerHost } from '../../src/contracts/hosted-computers/hosts.ts';
import { type People, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { clearAway, type Helper, helperFolder, noComputers, startHelper } from '../support/computers/helper.ts';
import { createWorld, type World } from '../support/computers/world.ts';
import { signInAs } from '../support/oidc-provider.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: a computer host that joins a cloud (${missing}).`);
const patience = 120_000;

/** Listens on a port of another network and passes on to a socket in the file system, which both see. */
const passing = `const [port, path] = process.argv.slice(1);
const { connect, createServer } = require('node:net');
createServer((near) => {
  const far = connect(path);
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));`;

/** The only way from the machine of the computer host to the cloud. */
async function openCable(around: World, port: number, path: string) {
  const open = new Set<Socket>();
  let up = true;
  const server = createServer((near) => {
    if (!up) return void near.destroy();
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one
        .on('error', () => {})
        .once('close', () => {
          open.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const [enter, ...words] = around.on('machine');
  const child = spawn(enter, [...words, process.execPath, '-e', passing, String(port), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  return {
    pull() {
      up = false;
      for (const socket of open) socket.destroy();
    },
    plug() {
      up = true;
    },
    close() {
      child.kill('SIGKILL');
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

describe.skipIf(missing !== null)('a computer host that joins', () => {
  const stop = keepUntilEnd();
  const [folder, nowhere] = [helperFolder(), helperFolder()];
  const tokenFile = `${nowhere}/join-token`;
  let around: World;
  let helper: Helper;
  let people: People;
  let cable: Awaited<ReturnType<typeof openCable>>;
  let key: string;

  const admin = async <Body>(method: string, path: string, body?: object) => {
    const reply = await people.call(method, `/api/v1/admin/${path}`, {
      token: people.internalToken,
      ...(body === undefined ? {} : { body }),
    });
    return { status: reply.status, body: reply.json as unknown as Body };
  };
  const hosts = async () => (await admin<{ hosts: ComputerHost[] }>('GET', 'computer-hosts')).body.hosts;
  const ask = async <Body>(method: string, path: string, body?: object) => {
    const reply = await people.call(method, `/v1/computers${path}`, {
      token: key,
      ...(body === undefined ? {} : { body }),
    });
    return { status: reply.status, body: reply.json as unknown as Body };
  };
  const exec = async (id: string, command: string) => {
    const call = { toolset: 'shell', member: 'exec', input: { command, shell: true } };
    const { status, body } = await ask<ToolsetResult>('POST', `/${id}/toolset`, call);
    return { status, said: body.content?.[0] };
  };
  const said = (text: string) => ({ status: 200, said: { type: 'text', text } });
  const statusOf = async (id: string) => (await ask<HostedComputer>('GET', `/${id}`)).body.status;

  beforeAll(async () => {
    around = await createWorld();
    // No computer host on the cloud's own machine.
    people = await startPeople({ settings: { computersFolder: nowhere } });
    cable = await openCable(around, people.port, `${nowhere}/cable.sock`);
    const ada = await personWith(people, await signInAs('ada', people.origin));
    await admin('POST', 'projects', { id: 'shop', userId: ada.id, hostedDriverEnabled: true });
    const made = await ada.call('POST', '/api/v1/keys', { body: { name: 'shop', scopes: ['computers'] } });
    key = (made.json as unknown as { secret: string }).secret;
    const { body } = await admin<{ token: string }>('POST', 'computer-hosts', { name: 'attic' });
    writeFileSync(tokenFile, body.token, { mode: 0o600 });
    const more = ['--join', people.origin, '--join-token-file', tokenFile];
    helper = await startHelper({ world: around, folder, more });
  }, patience);
  afterAll(async () => {
    cable?.close();
    await stop();
    await helper?.stop();
    around?.close();
    rmSync(tokenFile, { force: true });
    for (const each of [folder, nowhere]) clearAway(each);
  }, patience);

  test('makes computers over its link; while it is away they are out of reach, and they go on when it is back', {
    timeout: patience,
  }, async () => {
    await expect.poll(hosts).toMatchObject([{ name: 'attic', linked: true, computers: 0 }]);
    const made = await ask<HostedComputer>('POST', '', { toolset: 'shell' });
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ status: 'running' })]);
    const { id } = made.body;
    expect(await exec(id, 'echo kept > kept; echo here')).toEqual(said('here\n'));
    expect((await helper.ask('inspect', id)).state).toBe('running');
    expect(await hosts()).toMatchObject([{ computers: 1 }]);
    cable.pull();
    await expect.poll(hosts).toMatchObject([{ linked: false, computers: 1 }]);
    expect((await exec(id, 'true')).status).toBe(503);
    expect((await ask('POST', `/${id}/stop`)).status).toBe(503);
    expect((await ask('POST', '', { toolset: 'shell' })).status).toBe(503);
    // Long enough for it to fall asleep and for everything to be compared.
    people.clock.move(400_000);
    await expect.poll(async () => (await exec(id, 'true')).status, { interval: 4_000 }).toBe(503);
    expect(await statusOf(id)).toBe('running');
    cable.plug();
    await expect.poll(() => exec(id, 'cat kept'), { timeout: 60_000, interval: 500 }).toEqual(said('kept\n'));
    expect((await ask('DELETE', `/${id}`)).status).toBe(200);
    await expect.poll(() => helper.ask('list')).toEqual([]);
    await expect.poll(hosts).toMatchObject([{ computers: 0 }]);
  });

  test('is cut off when it is removed, and the computers that it still has are lost to its cloud', {
    timeout: patience,
  }, async () => {
    const { id } = (await ask<HostedComputer>('POST', '', { toolset: 'shell' })).body;
    const [{ id: host } = { id: '' }] = await hosts();
    const removed = await admin<ComputerHost>('DELETE', `computer-hosts/${host}`);
    expect(removed).toMatchObject({ status: 200, body: { linked: false, computers: 1 } });
    expect((await admin('DELETE', `computer-hosts/${host}`)).status).toBe(404);
    await expect.poll(() => helper.said()).toContain('This computer host was removed.');
    expect((await exec(id, 'true')).status).toBe(409);
    expect(await statusOf(id)).toBe('error');
    expect((await ask('DELETE', `/${id}`)).status).toBe(200);
    expect(await hosts()).toEqual([]);
  });
});
