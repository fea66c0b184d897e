/**
 * Each verb of the work engine: once typed into the pane of a real bot, with its `gantry`, its environment and its token; then in
 * this process with the same environment, which is quicker.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Lease } from '../../../src/contracts/factory/work-engine/leases.ts';
import type { LedgerRow } from '../../../src/contracts/factory/work-engine/ledger.ts';
import type { Mail } from '../../../src/contracts/factory/work-engine/mail.ts';
import type { Peer, PeerMessage } from '../../../src/contracts/factory/work-engine/peers.ts';
import type { Plan } from '../../../src/contracts/factory/work-engine/plans.ts';
import type { Checkpoint } from '../../../src/contracts/factory/work-engine/steer.ts';
import type { EnginePartDeps } from '../../../src/runtime-server/parties/part.ts';
import { createTickets } from '../../../src/runtime-server/tickets/tickets.ts';
import { run } from '../../cli/support.ts';
import { waitFor } from '../engine.ts';
import { twoBots } from './two-bots.ts';

const bots = twoBots();

beforeAll(async () => {
  const { engine, a } = bots;
  engine.write('plan.json', JSON.stringify({ steps: [{ id: 'hello', command: 'echo hello' }] }));
  const deps = { store: engine.store, ledger: engine.ledger, workspace: engine.workspace } as EnginePartDeps;
  const { writer } = createTickets(deps);
  const ticket = { botId: a.id, title: 'Look at this', data: { build: 7 }, threadId: null, at: 0 };
  await engine.store.write((tx) => {
    for (const id of ['ticket_pane', 'ticket_here']) {
      writer.open(tx, { id, source: { kind: 'webhook', ref: id }, ...ticket });
    }
  });
});

/** The same command line in this process. */
function here(line: readonly string[], stdin: string | null = null) {
  const { engine, a } = bots;
  const { home, workspace } = engine;
  const env = {
    GANTRY_HOME: home,
    GANTRY_WORKSPACE: workspace,
    GANTRY_URL_FILE: join(home, 'run', 'url'),
    GANTRY_TOKEN_FILE: join(home, 'run', 'bots', a.id, 'token'),
    PATH: process.env.PATH ?? '',
  };
  return run(env, line, stdin);
}
const json = async <T>(line: readonly string[]) => (await here([...line, '--json'])).json() as T;

const typed: [verb: string, line: string, code: number, printed: string][] = [
  ['mail', 'gantry orchestration mail --to owner --subject Hi "how are you"', 0, 'Put into the inbox of'],
  ['peers', 'gantry orchestration peers --register typed', 0, 'is registered'],
  ['steer', 'gantry orchestration steer $GANTRY_AGENT checkpoint half way', 0, 'is working'],
  ['leases', 'gantry workspace leases --claim-path typed', 0, 'typed is held'],
  ['plans', 'gantry workspace plans --draft Greet --file plan.json', 0, 'is drafted, 1 step.'],
  ['tickets', 'gantry workspace tickets ticket_pane --close', 0, 'ticket_pane is closed'],
  ['ledger query', 'gantry ledger query --type lease.claimed', 0, 'lease.claimed'],
  ['ledger verify', 'gantry ledger verify', 0, 'The ledger is whole'],
  ['ledger export', 'gantry ledger export', 1, 'is not enough to'],
  ['vault', 'echo secret | gantry vault set X', 1, 'is not enough to'],
];

test('typed into the pane of a bot, each verb does what a bot may do and refuses the rest', async () => {
  const { engine, a } = bots;
  const script = typed.map(([, line], at) => `${line} > said-${at} 2>&1; echo $? > code-${at}`);
  engine.write('typed.sh', `${script.join('\n')}\ntouch typed-all\n`);
  await engine.call('POST', `/agents/${a.address}/input`, { text: '. ./typed.sh', keys: ['Enter'] });
  const file = (name: string) => readFileSync(join(engine.workspace, name), 'utf8');
  for (const [at, [verb, , code, printed]] of typed.entries()) {
    await waitFor(
      () => existsSync(join(engine.workspace, at + 1 < typed.length ? `said-${at + 1}` : 'typed-all')),
      (there) => there,
    );
    expect([verb, file(`said-${at}`), file(`code-${at}`).trim()]).toEqual([
      verb,
      expect.stringContaining(printed),
      String(code),
    ]);
  }
});

test('mail: a bot writes, lists, reads, and cannot look into other inboxes', async () => {
  const { a, b } = bots;
  const to = ['orchestration', 'mail', '--to', b.address, '--subject', 'Hi'];
  expect(await json<Mail>([...to, 'how are you'])).toMatchObject({
    from: a.address,
    to: b.address,
    text: 'how are you',
  });
  expect((await here([...to, '--dry-run', 'x'])).out).toContain('Would put "Hi" into the inbox');
  expect((await here([...to, '-'], 'piped\n')).code).toBe(0);
  const back = await bots.call<Mail>('POST', '/mail', { to: a.address, subject: 'Re', text: 'fine\u001b[31m' }, b);
  expect((await here(['orchestration', 'mail', '--unread'])).out).toContain(back.body.id);
  expect((await here(['orchestration', 'mail', '--read', back.body.id])).out).toContain('fine\uFFFD[31m');
  expect((await here(['orchestration', 'mail', '--unread'])).out).toContain('No mail.');
  expect((await here(['orchestration', 'mail', '--bot', b.address, '--json'])).code).toBe(1);
});

test('leases: a bot holds a path against others, and gives back its own alone', async () => {
  const { b } = bots;
  const leases = ['workspace', 'leases'];
  const lease = await json<Lease>([...leases, '--claim-path', 'src', '--ttl', '60', '--note', 'editing']);
  expect((await bots.call('POST', '/leases', { path: 'src/x' }, b)).status).toBe(409);
  expect((await here(leases)).out).toContain('editing');
  expect((await here([...leases, '--renew', lease.id])).code).toBe(0);
  const theirs = (await bots.call<Lease>('POST', '/leases', { name: 'theirs' }, b)).body;
  expect((await here([...leases, '--release', theirs.id])).code).toBe(1);
  expect((await here([...leases, '--release', lease.id, '--dry-run'])).out).toContain('Would release src');
  expect((await here([...leases, '--release', lease.id])).out).toContain('src is free');
});

test('plans: a bot drafts and refines, its person alone runs', async () => {
  const { engine } = bots;
  const file = ['--file', join(engine.workspace, 'plan.json')];
  const plan = await json<Plan>(['workspace', 'plans', '--draft', 'Greet', ...file]);
  const one = ['workspace', 'plans', plan.id];
  expect((await here([...one, '--refine', ...file, '--note', 'again'])).out).toContain('revision 2');
  expect((await here([...one, '--refine', ...file, '--revision', '1'])).code).toBe(1);
  expect((await here(['workspace', 'plans'])).out).toContain('Greet');
  expect((await here(one)).out).toContain('echo hello');
  expect((await here([...one, '--run', '--project', 'p'])).code).toBe(1);
  expect((await here(['workspace', 'plans', '--draft', 't', '--file', '-'], '[]')).code).toBe(64);
  expect((await here(['workspace', 'plans', '--draft', 't', '--file', 'none'])).code).toBe(2);
  expect((await here([...one, '--discard'])).out).toContain('is discarded');
});

test('peers: a bot registers a program, takes its messages and acknowledges them', async () => {
  const { b } = bots;
  const peers = ['orchestration', 'peers'];
  const peer = await json<Peer>([...peers, '--register', 'watcher', '--ttl', '600']);
  await bots.call('POST', `/peers/${peer.id}/send`, { text: 'look at line 3' }, b);
  const { messages } = await json<{ messages: PeerMessage[] }>([...peers, '--beat', peer.id]);
  expect(messages).toMatchObject([{ text: 'look at line 3', from: b.address }]);
  const ack = [...peers, '--beat', peer.id, '--ack', messages[0]?.id ?? ''];
  expect((await here(ack)).out).toContain('Nothing waits');
  expect((await here([...peers, '--send', peer.id, 'note', 'to', 'self'])).out).toContain('next heartbeat');
  expect((await here(peers)).out).toMatch(/watcher\s+live/);
  expect((await here([...peers, '--remove', peer.id])).code).toBe(0);
});

test('steer: a bot notes where it stands, consults another, and may not interrupt it', async () => {
  const { a, b } = bots;
  const steer = ['orchestration', 'steer'];
  const { checkpoint } = await json<{ checkpoint: Checkpoint }>([...steer, a.address, 'checkpoint', 'by', 'hand']);
  expect(checkpoint).toMatchObject({ agent: a.address, by: a.address, note: 'by hand' });
  expect((await here([...steer, b.address, 'consult', '# which way?'])).out).toContain('Read the answer: ');
  expect((await here([...steer, b.address, 'interrupt', 'stop', '--json'])).code).toBe(1);
  expect((await here([...steer, b.address, 'kill'])).code).toBe(64);
  expect((await here(steer)).out).toContain('by hand');
});

test('ledger, tickets, runs, vault, triggers: a bot has what is its own, and stays out of its person’s', async () => {
  const { rows } = await json<{ rows: LedgerRow[] }>(['ledger', 'query', '--limit', '5']);
  expect(new Set(rows.map((row) => row.actor))).toEqual(new Set([bots.a.id]));
  expect((await here(['workspace', 'tickets'])).out).toContain('Look at this');
  expect((await here(['workspace', 'tickets', 'ticket_here'])).out).toContain('"build": 7');
  expect((await here(['workspace', 'tickets', 'ticket_here', '--close', '--note', 'done'])).out).toContain('is closed');
  expect((await here(['agents', 'runs'])).out).toContain('No records.');
  for (const refused of ['vault ls', 'vault rm X', 'workspace triggers', 'workspace triggers --create t --bot me']) {
    expect([refused, (await here([...refused.split(' '), '--json'])).code]).toEqual([refused, 1]);
  }
});
