/**
 * A data folder of an earlier Gantry, opened by this one. `test/data/home` has the folder and what that Gantry answered from it, and says how to make
 * another.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { expect, test } from 'vitest';
import type { DoctorCheck } from '../../src/contracts/common/doctor-check.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import type { Clock } from '../../src/kit/clock/clock.ts';
import { takeInstanceLock } from '../../src/kit/store/instance-lock.ts';
import { caller, onEnd } from '../kit/http/support.ts';

const data = new URL('../data/home/', import.meta.url).pathname;

interface Answers {
  readonly place: string;
  /** When they were read, ms. */
  readonly at: number;
  /** Credentials that the person had then. */
  readonly cookie: string;
  readonly key: string;
  readonly trigger: string;
  /** A task of the queue and the lease that the worker `winch` had on it. */
  readonly task: string;
  readonly lease: string;
  readonly reads: readonly { readonly door: 'engine' | 'web'; readonly path: string; readonly answer: unknown }[];
}

const answers = JSON.parse(readFileSync(join(data, 'answers.json'), 'utf8')) as Answers;
const home = join(answers.place, 'home');
const workspace = join(answers.place, 'workspace');

/**
 * Runs from the moment at which the answers were read, a tenth as fast: however slow the computer is, the minute of the lease has not passed, and no
 * question has expired.
 */
function slowClock(from: number): Clock {
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 10;
  return { now: () => Math.floor(from + passed()), monotonic: passed };
}

/** Rows name the workspace by its path, so the folder lies where it was made, and one test at a time has it. */
async function unpack(): Promise<void> {
  let release: (() => void) | null = null;
  await expect
    .poll(() => {
      release = takeInstanceLock(`${answers.place}.lock`);
      return release !== null;
    })
    .toBe(true);
  onEnd(() => release?.());
  rmSync(answers.place, { recursive: true, force: true });
  mkdirSync(answers.place);
  onEnd(() => rmSync(answers.place, { recursive: true, force: true }));
  await extract({ file: join(data, 'home.tar.gz'), cwd: answers.place });
}

async function start(clock: Clock) {
  const env = { ...process.env, HOME: answers.place, GANTRY_HOME: home };
  const gantry = await startCombined({
    env,
    settings: readSettings(env, { port: 0, enginePort: 0, peerPort: 0 }),
    gantry: 'gantry',
    demoPhone: true,
    clock,
    answers: 'throw',
  });
  onEnd(() => gantry.close({ stopBots: true }));
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  const listeners = {
    engine: caller(Number(new URL(gantry.engineUrl).port), token),
    web: caller(Number(new URL(gantry.origin).port), token),
  };
  const isReady = async () => {
    const { agents } = (await listeners.engine('GET', '/api/factory/agents')).json as never as {
      agents: { state: string }[];
    };
    const { servers } = (await listeners.engine('GET', '/mcp/servers')).json as never as {
      servers: { status: string }[];
    };
    return [...agents.map(({ state }) => state), ...servers.map(({ status }) => status)];
  };
  // Its bots are started again, and its tool server, which refuses to start without its key; nothing listens where the connector is.
  await expect.poll(isReady).toEqual(['idle', 'idle', 'offline', 'connected', 'error']);
  const read = async () => {
    const seen: Record<string, unknown> = {};
    for (const { door, path } of answers.reads) {
      const reply = await listeners[door]('GET', path);
      seen[path] = reply.status === 200 ? settled(path, reply.json) : `${reply.status} ${reply.text}`;
    }
    return seen;
  };
  return { ...listeners, gantry, read };
}

/** Members that differ after each start, are no data, or are of the computer on which this runs, by the paths that have them. */
const moving: readonly [paths: RegExp, members: readonly string[], why: string][] = [
  [/^\/api\/factory\/(agents|teams)/, ['since', 'stateReason'], 'bots were started again'],
  [/^\/api\/factory\/why\/agent_/, ['since', 'sentence'], 'bots were started again'],
  [/^\/api\/factory\/(approvals|nodes)/, ['remainingMs'], 'time passed'],
  [/^\/api\/v1\/computers/, ['since'], 'the link is new'],
  [/^\/mcp\/servers/, ['pid', 'lastListedAt', 'updatedAt'], 'the program was started again'],
  [/^\/(mcp\/servers|api\/v1\/mcp\/connectors)/, ['error'], 'words of Gantry, found by a new try'],
  [/^\/api\/v1\/(tools|notifications)/, ['title', 'description'], 'words of Gantry'],
  [/^\/api\/factory\/templates/, ['description'], 'words of Gantry'],
  [/^\/api\/factory\/search/, ['title', 'text'], 'words of Gantry'],
  [/^\/api\/v1\/phone\/demo/, ['endings'], 'words of Gantry'],
  [/^\/beta\/work\/stats/, ['ages'], 'tasks wait longer'],
  [/^\/api\/v1\/(session|admin\/users)/, ['name'], 'the user of this computer'],
];

/** What must be the same. Ports are new at each start, and the free space changes by itself. */
function settled(path: string, answer: unknown): unknown {
  const dropped = moving.flatMap(([paths, members]) => (paths.test(path) ? members : []));
  const text = JSON.stringify(answer, (name, value: unknown) => (dropped.includes(name) ? undefined : value));
  // Other programs of this computer write meanwhile.
  const still = text.replaceAll(/[\d.]+ [KMGT]iB free/g, 'some space free');
  return JSON.parse(still.replaceAll(/127\.0\.0\.1:\d{4,5}\b/g, '127.0.0.1'));
}

const then = Object.fromEntries(answers.reads.map(({ path, answer }) => [path, settled(path, answer)]));

type Rows = { readonly rows: readonly object[] };
const ledger = '/api/factory/ledger?limit=200';
const doctor = '/api/factory/doctor';
const pool = '/api/v1/admin/pool';
/** A newer Gantry may have more of its own, and say more of each row. */
const tools = '/api/v1/tools?names=safe';
type Listed = { readonly tools: readonly object[] };
/** What is wrong with the data and its keys; the other checks are of the computer. */
const faults = (answer: unknown) =>
  (answer as { checks: DoctorCheck[] }).checks
    .filter(({ group, state }) => state !== 'ok' && ['disk', 'secret', 'workspace'].includes(group))
    .map(({ name }) => name);

test('a data folder of an earlier Gantry opens without loss, and opening it again changes nothing', async () => {
  await unpack();
  const clock = slowClock(answers.at);
  const first = await start(clock);
  const now = await first.read();
  const { [ledger]: rowsThen, [doctor]: doctorThen, [tools]: toolsThen, ...others } = then;
  // The driver's name since then.
  (others[pool] as { driver: { name: string } }).driver.name = 'namespace';
  for (const path of Object.keys(others)) expect.soft([path, now[path]]).toMatchObject([path, others[path]]);
  const rows = (rowsThen as Rows).rows.map((row) => expect.objectContaining(row));
  expect((now[ledger] as Rows).rows).toEqual(expect.arrayContaining(rows));
  const known = (toolsThen as Listed).tools.map((tool) => expect.objectContaining(tool));
  expect((now[tools] as Listed).tools).toEqual(expect.arrayContaining(known));
  expect(faults(now[doctor])).toEqual(faults(doctorThen));
  expect(readFileSync(join(workspace, '.opened-by-pilot'), 'utf8')).toBe('under-the-mat');

  await first.gantry.close();
  const second = await start(clock);
  const again = await second.read();
  for (const path of Object.keys(now)) expect.soft([path, again[path]]).toEqual([path, now[path]]);

  // What the person and their programs held still opens the same.
  const { web, engine } = second;
  // The name of a cookie ends with the port.
  const cookie = answers.cookie.replace(/\d+/, new URL(second.gantry.origin).port);
  const asBrowser = await web('GET', '/api/v1/session', { token: null, headers: { cookie } });
  expect([asBrowser.status, asBrowser.json]).toMatchObject([200, { user: 'user_local' }]);
  const beat = { worker_id: 'winch', lease_id: answers.lease };
  const held = await web('POST', `/beta/work/${answers.task}/heartbeat`, { token: answers.key, body: beat });
  expect([held.status, held.text]).toEqual([200, expect.anything()]);
  const posted = { token: null, body: { ship: 'Avocet' } };
  expect((await web('POST', `/webhooks/triggers/${answers.trigger}`, posted)).status).toBe(202);
  const tickets = async () => (await engine('GET', '/api/factory/tickets')).json;
  await expect.poll(tickets).toMatchObject({ tickets: [{ data: { ship: 'Avocet' } }, {}, {}] });
  expect((await engine('GET', '/api/factory/ledger/verify')).json).toMatchObject({ ok: true });
}, 90_000);
