/** Real SSH servers on loopback, and keys for them. Each lets every key in that is named, and runs what it is asked to. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { runProcess } from '../../src/kit/process/run-process.ts';
import { onEnd } from './at-end.ts';
import { freePort } from './free-port.ts';
import { scratchFolder } from './scratch.ts';

const program = ['/usr/sbin/sshd', '/usr/bin/sshd'].find((file) => existsSync(file));
const client = ['/usr/bin/ssh', '/usr/bin/ssh-agent', '/usr/bin/ssh-add'].every((file) => existsSync(file));
/** Without it such tests are skipped. Debian's packages: openssh-server and openssh-client. */
export const hasSsh = program !== undefined && client;

export interface SshKeyPair {
  readonly secret: string;
  readonly open: string;
}

export async function newSshKey(passphrase = ''): Promise<SshKeyPair> {
  const file = join(scratchFolder(), 'key');
  await runProcess({
    command: ['ssh-keygen', '-q', '-t', 'ed25519', '-N', passphrase, '-C', 'deploy', '-f', file],
    deadlineMs: 20_000,
  });
  return { secret: readFileSync(file, 'utf8'), open: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/** Lets the owner of these keys in. `known` is its line for a `known_hosts`. */
export async function startSshServer(keys: readonly SshKeyPair[], name?: string) {
  const folder = scratchFolder();
  const own = await newSshKey();
  const port = await freePort();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const settings = file(
    'sshd_config',
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${file('host_key', own.secret)}`,
      `AuthorizedKeysFile ${file('authorized_keys', keys.map(({ open }) => `${open}\n`).join(''))}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      '',
    ].join('\n'),
  );
  chmodSync(folder, 0o700);
  // Where it becomes another user, it does so in this folder, as Debian's package names it.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const server: ChildProcess = spawn(program!, ['-D', '-e', '-f', settings], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const listens = new Promise<void>((done, fail) => {
    server.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('Server listening')) done();
    });
    server.once('exit', () => fail(new Error(`sshd ended: ${said}`)));
  });
  onEnd(() => void server.kill());
  await listens;
  const place = name ?? `[127.0.0.1]:${port}`;
  return { port, place, known: `${place} ${own.open.split(' ').slice(0, 2).join(' ')}\n`, said: () => said };
}
