/** The SSH agent of a sandbox: a key signs in to its host, and nothing that a program says there gets or changes it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import type { SshOrder } from '../../../src/programs/sandbox-proxy/protocol.ts';
import { startSshAgent } from '../../../src/programs/sandbox-proxy/ssh-agent.ts';
import { onEnd } from '../../support/at-end.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { hasSsh, newSshKey, type SshKeyPair, startSshServer } from '../../support/ssh-server.ts';

type Server = Awaited<ReturnType<typeof startSshServer>>;

async function agentFor(keys: SshOrder['keys'], known: string) {
  const folder = join(scratchFolder(), 'ssh');
  await mkdir(folder);
  const knownHosts = join(folder, 'known_hosts');
  writeFileSync(knownHosts, known);
  const socket = join(folder, 's');
  const agent = await startSshAgent({ socket, knownHosts, keys });
  onEnd(() => agent.end());
  const env = { PATH: process.env.PATH ?? '', SSH_AUTH_SOCK: socket };
  const run = (...command: [string, ...string[]]) => runProcess({ command, env, deadlineMs: 30_000 });
  const signIn = async ({ port }: Server) => {
    const options = ['-F', 'none', '-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${knownHosts}`];
    const { stdout, stderr } = await run('ssh', ...options, '-p', String(port), '127.0.0.1', 'echo', 'in');
    return stdout.trim() === 'in' ? 'in' : stderr.trim();
  };
  const ask = (message: Buffer) =>
    new Promise<Buffer>((resolve) => {
      const client = connect(socket, () => client.write(message));
      const pieces: Buffer[] = [];
      client.on('data', (piece: Buffer) => {
        pieces.push(piece);
        client.destroy();
      });
      client.once('error', () => {}).once('close', () => resolve(Buffer.concat(pieces)));
    });
  return { run, signIn, ask, folder, socket };
}

const keyFor = ({ secret }: SshKeyPair, { place }: Server) => ({ name: 'DEPLOY_KEY', value: secret, place });

/** Of one number, with this behind it. */
function message(number: number, text = ''): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(1 + Buffer.byteLength(text, 'latin1'));
  head[4] = number;
  return Buffer.concat([head, Buffer.from(text, 'latin1')]);
}

const refused = Buffer.from([0, 0, 0, 1, 5]);

describe.skipIf(!hasSsh)('with OpenSSH', () => {
  test('a key signs in to its host, and not to another one that would take it', async () => {
    const key = await newSshKey();
    const [own, other] = [await startSshServer([key]), await startSshServer([key])];
    const { signIn } = await agentFor([keyFor(key, own)], own.known + other.known);
    expect(await signIn(own)).toBe('in');
    expect(await signIn(other)).toContain('Permission denied');
  });

  test('one key may be for two hosts', async () => {
    const key = await newSshKey();
    const [one, two] = [await startSshServer([key]), await startSshServer([key])];
    const { signIn } = await agentFor([keyFor(key, one), keyFor(key, two)], one.known + two.known);
    expect([await signIn(one), await signIn(two)]).toEqual(['in', 'in']);
  });

  test('a program cannot take keys away, add some, lock the agent, load a library, or bind it to what is no host', async () => {
    const [key, more] = [await newSshKey(), await newSshKey()];
    const own = await startSshServer([key]);
    const { run, signIn, ask, folder } = await agentFor([keyFor(key, own)], own.known);
    const file = join(scratchFolder(), 'more');
    writeFileSync(file, more.secret, { mode: 0o600 });
    for (const words of [['-D'], [file], ['-s', '/usr/lib/x86_64-linux-gnu/libc.so.6'], ['-d', file]]) {
      expect((await run('ssh-add', ...words)).exitCode, words.join(' ')).not.toBe(0);
    }
    // Remove all, lock, add a smartcard, another extension, no message at all.
    for (const asked of [
      message(19),
      message(22, '\0\0\0\x01x'),
      message(20),
      message(27, '\0\0\0\x05query'),
      Buffer.alloc(4),
    ]) {
      expect(await ask(asked)).toEqual(refused);
    }
    expect((await run('ssh-add', '-L')).stdout.trim()).toBe(key.open);
    expect(await signIn(own)).toBe('in');
    expect(readFileSync(join(folder, 'known_hosts'), 'utf8')).toBe(own.known);
  });

  test('it signs nothing for a connection that is bound to no host', async () => {
    const key = await newSshKey();
    const own = await startSshServer([key]);
    const { run } = await agentFor([keyFor(key, own)], own.known);
    const open = join(scratchFolder(), 'key.pub');
    writeFileSync(open, `${key.open}\n`);
    const { exitCode, stderr } = await run('ssh-keygen', '-Y', 'sign', '-n', 'file', '-f', open, open);
    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(/agent refused operation/);
  });

  test('a message that is too long ends its connection, and the agent goes on', async () => {
    const key = await newSshKey();
    const own = await startSshServer([key]);
    const { ask, signIn } = await agentFor([keyFor(key, own)], own.known);
    expect(await ask(Buffer.from([0x7f, 0xff, 0xff, 0xff, 11]))).toEqual(Buffer.alloc(0));
    expect(await signIn(own)).toBe('in');
  });

  test('an agent that is killed starts again with the next connection', async () => {
    const key = await newSshKey();
    const own = await startSshServer([key]);
    const { signIn, run, socket } = await agentFor([keyFor(key, own)], own.known);
    const inner = join(socket, '..', '..', `agent-${process.pid}`);
    const { stdout } = await run('pgrep', '-f', `^ssh-agent .*${inner}$`);
    process.kill(Number(stdout.trim()), 'SIGKILL');
    await expect.poll(() => signIn(own)).toBe('in');
  });

  test('a key that cannot be used is said with OpenSSH’s reason, and nothing is left', async () => {
    const key = await newSshKey();
    const own = await startSshServer([key]);
    const unknown = { name: 'DEPLOY_KEY', value: key.secret, place: 'elsewhere.example' };
    await expect(agentFor([unknown], own.known)).rejects.toThrow(/SSH key for elsewhere\.example .*host keys/);
    const broken = {
      ...keyFor(key, own),
      value: '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----',
    };
    await expect(agentFor([broken], own.known)).rejects.toThrow(/was not taken/);
  });
});
