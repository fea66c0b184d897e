/**
 * Begins a computer in a container, as its root: restricts its network to public addresses, proves that as the computer's own user, and ends with 0. It
 * ends with 1 and a sentence where that cannot be done or proven; the computer is not started then. deploy/images/computer-init.sh starts it, and
 * drops the right to change the network afterwards.
 */
import { spawnSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { chmodSync, chownSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import { nameServersIn, rulesFor, samplesOf } from './firewall.ts';
import { type Boot, inside, refusedWord } from './protocol.ts';
import { tryAddresses, wrongIn } from './tries.ts';

const [, , word = '', given = ''] = process.argv;
if (word === 'try') await tryAll(JSON.parse(given) as string[]);
else await begin(JSON.parse(readFileSync(word, 'utf8')) as Boot);

async function begin(boot: Boot): Promise<void> {
  const { pod, owner } = boot;
  // Without a Pod it then has no network but its own loopback.
  if (pod === undefined) return boot.egress === 'none' ? undefined : restrict(boot, null);
  own(boot);
  const { host, port } = pod.cloud;
  const found = await lookup(host, { all: true }).catch((fault: Error) =>
    end(`the cloud is not found: ${fault.message}`),
  );
  restrict(boot, { uid: owner.uid, addresses: found.map(({ address }) => address), port });
}

/** A cluster makes folders as root's, open to all: nothing of the computer may look into that of its socket, and its home is its own. */
function own({ socket, owner, user }: Boot): void {
  const channel = dirname(socket);
  try {
    chmodSync(channel, 0o750);
    chownSync(channel, 0, owner.gid);
    for (const folder of [inside.home, inside.data]) {
      chmodSync(folder, 0o700);
      chownSync(folder, user.uid, user.gid);
    }
  } catch (fault) {
    console.error(`The computer's folders could not be made its own: ${(fault as Error).message}.`);
    process.exit(1);
  }
}

function restrict({ egress, refuse, user }: Boot, way: Parameters<typeof rulesFor>[0]['way']): void {
  const servers = nameServersIn(readFileSync('/etc/resolv.conf', 'utf8'));
  // The cloud is refused to everybody else; where its node is, and the API of its cluster, stand in the Pod's environment.
  const { GANTRY_NODE = '', KUBERNETES_SERVICE_HOST = '' } = process.env;
  const ofPod = way === null ? [] : [...way.addresses, GANTRY_NODE, KUBERNETES_SERVICE_HOST];
  const refused = [...refuse, ...ofPod].filter(isIP);
  const table = rulesFor({ refuse: refused, servers, way, closed: egress === 'none' });
  run('nft', ['-f', '-'], table);
  const before = refusals();
  const samples = samplesOf(refused, servers);
  const tried = spawnSync(process.execPath, [process.argv[1]!, 'try', JSON.stringify(samples)], {
    encoding: 'utf8',
    uid: user.uid,
    gid: user.gid,
  });
  if (tried.status !== 0) end(`it could not be tried: ${tried.stderr.trim() || String(tried.error)}`);
  const came = JSON.parse(tried.stdout) as Record<string, string>;
  const wrong = wrongIn(came);
  if (wrong !== null) end(`from inside, ${wrong[0]} answers with "${wrong[1]}"`);
  const asked = Object.values(came).filter((what) => what === refusedWord).length;
  // A port without a listener refuses as well: only what this table counts was refused by it.
  if (asked === 0 || refusals() - before < asked) end('refused connections were not refused by its firewall');
}

/** Packets that the table has refused. */
function refusals(): number {
  const { nftables } = JSON.parse(run('nft', ['-j', 'list', 'chain', 'inet', 'gantry', 'refused'])) as {
    nftables: readonly {
      readonly rule?: { readonly expr: readonly { readonly counter?: { readonly packets: number } }[] };
    }[];
  };
  const counts = nftables.flatMap(({ rule }) => rule?.expr.flatMap(({ counter }) => counter?.packets ?? []) ?? []);
  return counts.reduce((sum, packets) => sum + packets, 0);
}

function run(program: string, words: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, { input, encoding: 'utf8' });
  if (status !== 0) end(`${program} failed: ${(stderr ?? String(error)).trim().slice(0, 400)}`);
  return stdout;
}

function end(why: string): never {
  console.error(`The computer's network could not be restricted to public addresses: ${why}.`);
  process.exit(1);
}

/** As the computer's own user: what comes of a connection to each address. */
async function tryAll(addresses: readonly string[]): Promise<void> {
  const came = await tryAddresses(addresses);
  // Nobody but root may change what refuses.
  const changed = spawnSync('nft', ['flush', 'ruleset']).status === 0;
  console.log(JSON.stringify(changed ? { 'the firewall': 'it can be changed' } : came));
}
