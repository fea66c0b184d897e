/**
 * Begins a computer in a container, as its root: restricts its network to public addresses, proves that as the computer's own user, and ends with 0. It
 * ends with 1 and a sentence where that cannot be done or proven; the computer is not started then. deploy/images/computer-init.sh starts it, and
 * drops the right to change the network afterwards.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect, isIP } from 'node:net';
import { nameServersIn, rulesFor, samplesOf } from './firewall.ts';
import { type Boot, noWayWords, refusedWord } from './protocol.ts';

/** Milliseconds. A refused connection is refused at once. */
const within = 2_000;

const [, , word = '', given = ''] = process.argv;
if (word === 'try') await tryAll(JSON.parse(given) as string[]);
else restrict(JSON.parse(readFileSync(word, 'utf8')) as Boot);

function restrict({ egress, refuse, user }: Boot): void {
  // Then there is no network but its own loopback.
  if (egress === 'none') return;
  const servers = nameServersIn(readFileSync('/etc/resolv.conf', 'utf8'));
  const table = rulesFor({ refuse: refuse.filter(isIP), servers });
  run('nft', ['-f', '-'], table);
  const before = refusals();
  const samples = samplesOf(refuse, servers);
  const tried = spawnSync(process.execPath, [process.argv[1]!, 'try', JSON.stringify(samples)], {
    encoding: 'utf8',
    uid: user.uid,
    gid: user.gid,
  });
  if (tried.status !== 0) end(`it could not be tried: ${tried.stderr.trim() || String(tried.error)}`);
  const came = JSON.parse(tried.stdout) as Record<string, string>;
  const wrong = Object.entries(came).find(([, what]) => what !== refusedWord && !noWayWords.has(what));
  if (wrong !== undefined) end(`from inside, ${wrong[0]} answers with "${wrong[1]}"`);
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
  const came = await Promise.all(addresses.map(async (address) => [address, await attempt(address)] as const));
  // Nobody but root may change what refuses.
  const changed = spawnSync('nft', ['flush', 'ruleset']).status === 0;
  console.log(JSON.stringify(Object.fromEntries(changed ? [['the firewall', 'it can be changed']] : came)));
}

function attempt(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 80 });
    const done = (what: string) => {
      clearTimeout(late);
      socket.destroy();
      resolve(what);
    };
    const late = setTimeout(done, within, 'silence');
    socket.once('connect', () => done('a connection'));
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });
}
