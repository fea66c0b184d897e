/**
 * The SSH agent of one sandbox: OpenSSH's own, with keys that may sign for their hosts only. Its programs reach a socket that passes on what signing in
 * takes and nothing else, so they cannot add keys, or have the agent load a library. Owns that socket and the agent. Must not know whose sandbox it is.
 */
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { Transform } from 'node:stream';
import { runProcess } from '../../kit/process/run-process.ts';
import { type ServedProcess, startServedProcess } from '../../kit/process/served-process.ts';
import type { SshOrder } from './protocol.ts';

export interface SshAgent {
  end(): Promise<void>;
}

/** At once. */
const maxConnections = 32;
const addMs = 10_000;
/** Longer than what OpenSSH's agent takes. */
const maxMessageLength = 256 * 1024;

/** Numbers of messages, from draft-ietf-sshm-ssh-agent. */
const [requestIdentities, signRequest, extension] = [11, 13, 27];
/** Says for which host a connection signs; the agent checks that the host's key signed this. From OpenSSH's PROTOCOL.agent. */
const binding = 'session-bind@openssh.com';
/** A message that no agent knows: answered, in its turn, as refused. */
const unknown = Buffer.from([0, 0, 0, 1, 255]);

/** Resolves once it has all keys. Rejects with half a sentence. */
export async function startSshAgent({ socket, knownHosts, keys }: SshOrder): Promise<SshAgent> {
  // Beside the folder that the sandbox sees. The agent of a proxy that was killed may still live, and takes away its own socket as it ends.
  const inner = join(dirname(dirname(socket)), `agent-${process.pid}`);
  let agent: Promise<ServedProcess> | null = null;
  let isOver = false;

  async function begin(): Promise<ServedProcess> {
    rmSync(inner, { force: true });
    // It loads no library for a hardware key, wherever that lies.
    const started = await startServedProcess({ command: ['ssh-agent', '-D', '-P', '', '-a', inner] });
    const first = await Promise.race([
      new Promise<'listens'>((resolve) => started.stdout.once('data', () => resolve('listens'))),
      started.exited,
    ]);
    if (first !== 'listens') throw new Error(`ssh-agent did not start: ${started.complaint().trim()}`);
    started.stdout.resume();
    void started.exited.then(() => {
      agent = null;
    });
    try {
      for (const [value, places] of placesByKey(keys)) await add(value, places);
    } catch (fault) {
      await started.end();
      throw fault;
    }
    return started;
  }

  async function add(value: string, places: readonly string[]): Promise<void> {
    const { exitCode, stderr } = await runProcess({
      command: ['ssh-add', '-q', '-H', knownHosts, ...places.flatMap((place) => ['-h', place]), '-'],
      env: { PATH: process.env.PATH ?? '', SSH_AUTH_SOCK: inner, SSH_ASKPASS_REQUIRE: 'never' },
      input: `${value.trimEnd()}\n`,
      deadlineMs: addMs,
    });
    if (exitCode === 0) return;
    const old = /(?:unknown|illegal|invalid) option/.test(stderr) ? 'OpenSSH 8.9 or newer is needed: ' : '';
    throw new Error(`the SSH key for ${places.join(' and ')} was not taken: ${old}${stderr.trim().slice(0, 300)}`);
  }

  /** One that was killed starts again with the next connection. */
  const running = () => (agent ??= begin());

  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => client.destroy());
    running().then(
      () => (isOver ? client.destroy() : passOn(client, inner)),
      () => client.destroy(),
    );
  });
  server.maxConnections = maxConnections;

  async function end(): Promise<void> {
    isOver = true;
    server.close();
    for (const client of clients) client.destroy();
    await (await agent?.catch(() => null))?.end();
  }

  try {
    await running();
    rmSync(socket, { force: true });
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(socket, done);
    });
  } catch (fault) {
    await end();
    throw fault;
  }
  return { end };
}

function passOn(client: Socket, inner: string): void {
  const upstream = connect(inner);
  const end = () => {
    client.destroy();
    upstream.destroy();
  };
  client.once('close', end);
  upstream.once('close', end).once('error', end);
  const asked = onlySigning();
  asked.once('error', end);
  client.pipe(asked).pipe(upstream).pipe(client);
}

/** Passes whole messages on: `u32 length · u8 number · …`. */
function onlySigning(): Transform {
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4) {
        const length = rest.readUInt32BE();
        if (length > maxMessageLength) return done(new RangeError(`a message of ${length} bytes`));
        if (rest.length < 4 + length) break;
        const message = rest.subarray(0, 4 + length);
        this.push(isSigning(message.subarray(4)) ? Buffer.from(message) : unknown);
        rest = rest.subarray(4 + length);
      }
      done();
    },
  });
}

function isSigning(message: Buffer): boolean {
  const number = message[0];
  if (number !== extension) return number === requestIdentities || number === signRequest;
  if (message.length < 5) return false;
  return message.toString('latin1', 5, 5 + Math.min(message.readUInt32BE(1), binding.length + 1)) === binding;
}

/** The same key may be for several hosts, but the agent knows it once. */
function placesByKey(keys: SshOrder['keys']): Map<string, string[]> {
  const places = new Map<string, string[]>();
  for (const { value, place } of keys) places.set(value.trim(), [...(places.get(value.trim()) ?? []), place]);
  return places;
}
