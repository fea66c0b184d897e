/** The keys of hosts that its person knows, as SSH keeps them. Must not know sandboxes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { runProcess } from '../../kit/process/run-process.ts';
import { programIn } from '../../kit/sandbox/bubblewrap.ts';

const askMs = 10_000;

interface Here {
  readonly path: string;
  readonly userHome: string;
}

/**
 * Lines of a `known_hosts` for these places (`git.example.org`, `[git.example.org]:2222`). `usage` for a host that its person has never connected to,
 * `refused` without OpenSSH.
 */
export async function knownHostsOf(places: readonly string[], { path, userHome }: Here): Promise<string> {
  const missing = ['ssh-keygen', 'ssh-agent', 'ssh-add'].find((name) => programIn(path, name) === null);
  if (missing !== undefined) {
    throw new AppError('refused', `For its SSH key \`${missing}\` is needed.`, 'Install openssh-client.');
  }
  const files = [join(userHome, '.ssh', 'known_hosts'), '/etc/ssh/ssh_known_hosts'].filter((file) => existsSync(file));
  const lines: string[] = [];
  for (const place of places) {
    const found: string[] = [];
    for (const file of files) {
      const command = [programIn(path, 'ssh-keygen')!, '-F', place, '-f', file] as const;
      const { stdout } = await runProcess({ command, deadlineMs: askMs });
      found.push(...stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#')));
    }
    if (found.length === 0) throw unknownHost(place);
    lines.push(...found);
  }
  return `${[...new Set(lines)].join('\n')}\n`;
}

function unknownHost(place: string): AppError {
  const [, host = place, port = ''] = /^\[(.+)\]:(\d+)$/.exec(place) ?? [];
  const fact = `Its SSH key is for ${place}, whose own key is not in your known_hosts.`;
  return new AppError(
    'usage',
    fact,
    `Connect there once in your own terminal: ssh ${port === '' ? '' : `-p ${port} `}git@${host}`,
  );
}
