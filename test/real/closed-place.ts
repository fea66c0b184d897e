/**
 * Where the scene of `closed.ts` is played: namespaces with two addresses that look public and names that lead there, and in them a user, because a
 * program that Gantry starts as root cannot make sandboxes. Must not know programs.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names of the model and of a server that no rule knows, and where they lead. */
export const model = { name: 'model.example.org', address: '93.184.216.40' };
export const elsewhere = { name: 'files.example.org', address: '93.184.216.41' };

const setUp = [
  'ip link set lo up',
  `ip address add ${model.address}/32 dev lo`,
  `ip address add ${elsewhere.address}/32 dev lo`,
  'mount --bind "$HOSTS" /etc/hosts',
  // So that the user may listen on 443.
  'echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start',
  'exec unshare --map-user=1000 --map-group=1000 "$0" "$@"',
].join(' && ');

/** The command line that runs `command` there. */
export function inPlace(folder: string, command: readonly string[]): [string, ...string[]] {
  const hosts = join(folder, 'hosts');
  const lines = ['127.0.0.1 localhost', ...[model, elsewhere].map(({ name, address }) => `${address} ${name}`)];
  writeFileSync(hosts, `${lines.join('\n')}\n`);
  return [
    'unshare',
    ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
    ...['--mount', '--net', '--ipc', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
    ...['env', `HOSTS=${hosts}`, 'sh', '-c', setUp, ...command],
  ];
}
