/**
 * Makes one of the data folders that the figure `upgrade.matrix` opens, with the Gantry of any commit:
 *
 *   node test/data/homes/make.ts <folder of a checkout with its node_modules>
 *
 * Starts that Gantry, uses it, stops it, and writes `<commit>.tar.gz` and `<commit>.json` beside this file: what it left on disk, and how many rows each
 * of its tables has. A part that the commit does not have yet is left out and named in the JSON. For the answers of one folder in every detail see
 * `test/data/home`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from 'tar';
import { CallError, createCaller } from '../../support/bench/http.ts';
import { processes } from '../../support/bench/processes.ts';
import { agreeToAll } from '../../support/trust.ts';
import { startVictim } from '../../support/victim.ts';
import { countRows, type KeptHome, placeOf } from './open.ts';

type Row = Record<string, string>;

const files = {
  '.gantry/teams/crew/team.yaml': `name: crew
version: 1
bots:
  - { bot: pilot, role: pilot, harness: shell }
  - { bot: keeper, role: keeper, harness: shell }
`,
  '.gantry/templates/ship.json': JSON.stringify({
    name: 'Ship it',
    params: [{ name: 'version', required: true }],
    steps: [
      { id: 'build', title: 'Build {{ params.version }}', command: 'echo built {{ params.version }}' },
      {
        id: 'publish',
        title: 'Publish {{ params.version }}',
        blocked_by: ['build'],
        wait_gate: { kind: 'manual', description: 'Look at it before it goes out' },
        command: 'echo published',
      },
    ],
  }),
};

const [given] = process.argv.slice(2);
if (given === undefined) throw new Error('Give the folder of a checkout.');
const checkout = resolve(given);
const git = (...args: string[]) => execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8' }).trim();
const commit = git('rev-parse', '--short=8', 'HEAD');
const place = placeOf(commit);
const [home, workspace] = [join(place, 'home'), join(place, 'workspace')];

rmSync(place, { recursive: true, force: true });
for (const [path, text] of Object.entries(files)) {
  const file = join(workspace, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
}
mkdirSync(home, { mode: 0o700 });

const gantry = startVictim({
  command: [
    process.execPath,
    join(checkout, 'scripts', 'gantry.mjs'),
    ...['start', '--headless', '--json', '--port', '0', '--engine-port', '0', '--workspace', workspace],
  ],
  cwd: workspace,
  env: { HOME: place, GANTRY_HOME: home, TZ: 'UTC' },
});
const hosts = () => processes().filter(({ pid, command }) => pid !== process.pid && command.includes(`--home ${home}`));
process.on('exit', () => {
  gantry.child.kill();
  for (const { pid } of hosts()) process.kill(pid);
});
const said = JSON.parse(await gantry.until((line) => line.startsWith('{'))) as Row;
const token = readFileSync(join(home, 'token'), 'utf8').trim();
const web = createCaller(new URL(said.url as string).origin, token);
const engine = createCaller(said.engine as string, token);
const isOfEngine = (path: string) => path.startsWith('/api/factory/') && !path.startsWith('/api/factory/approvals');
const ask = <T = Row>(method: string, path: string, body?: unknown) =>
  (isOfEngine(path) ? engine : web).call<T>(method, path, body);
const make = <T = Row>(path: string, body: unknown) => ask<T>('POST', path, body);

async function until<T>(path: string, holds: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 300; tries += 1) {
    const answer = await ask<T>('GET', path);
    if (holds(answer)) return answer;
    await delay(50);
  }
  throw new Error(`${path} did not become what it should: ${JSON.stringify(await ask('GET', path))}`);
}

const without: string[] = [];
/** Uses one part of Gantry. Its first call answers 404, 405 or 501 where the commit does not have the part yet. */
async function part(name: string, use: () => Promise<unknown>): Promise<void> {
  try {
    await use();
  } catch (error) {
    if (!(error instanceof CallError) || ![404, 405, 501].includes(error.status)) throw error;
    without.push(name);
  }
}

await part('keys', () => make('/api/v1/keys', { name: 'ci', scopes: ['agents:read'] }));
await part('trust', async () => {
  await ask('GET', '/api/factory/workspace/trust');
  await agreeToAll(`${said.engine}/api/factory`, { authorization: `Bearer ${token}` });
});
await part('vault', () => ask('PUT', '/api/factory/vault/HARBOUR_KEY', { value: 'under-the-mat' }));
await make('/api/factory/teams/crew/up', {});
await until<{ agents: Row[] }>('/api/factory/agents', ({ agents }) => agents.every(({ state }) => state === 'idle'));
for (const text of ['echo the harbour is open', 'echo two ships are in']) {
  const sent = await make('/api/factory/send', { to: 'pilot@crew', text });
  await until<{ deliveries: Row[] }>('/api/factory/deliveries', ({ deliveries }) =>
    deliveries.some(({ id, state }) => id === sent.id && state === 'verified'),
  );
}
await part('threads', () => make('/api/factory/threads', { title: 'Arrivals', bot: 'pilot@crew' }));
await part('mail', () => make('/api/factory/mail', { to: 'pilot@crew', subject: 'Fog', text: 'Slow down.' }));
await part('leases', () => make('/api/factory/leases', { path: 'src/api', ttlSeconds: 86_400, note: 'renaming' }));
await part('plans', () =>
  make('/api/factory/plans', { title: 'Regatta', template: { steps: [{ id: 'sail', command: 'echo sailing' }] } }),
);
await part('runs', async () => {
  const run = (version: string) => make('/api/factory/runs', { template: 'ship', params: { version }, projectId: 'harbour' });
  const first = await run('1.0');
  const at = (status: string) =>
    until<{ status: string; nodes: Row[] }>(`/api/factory/dags/${first.dagId}`, (dag) => dag.status === status);
  const { nodes } = await at('needs_you');
  await make(`/api/factory/nodes/${first.dagId}/${nodes[1]?.nodeId}/gate`, { note: 'looks right' });
  await at('done');
  const second = await run('1.1');
  await until<{ status: string }>(`/api/factory/dags/${second.dagId}`, ({ status }) => status === 'needs_you');
});
await part('schedules', () =>
  make('/api/factory/schedules', {
    run: { template: 'ship', params: { version: '2.0' }, projectId: 'harbour' },
    cron: '30 4 1 1 *',
    timezone: 'UTC',
    paused: true,
  }),
);
await part('triggers', async () => {
  const trigger = await make('/api/factory/triggers', { botId: 'pilot@crew', title: 'A ship is in sight' });
  const posted = await fetch(trigger.url as string, { method: 'POST', body: JSON.stringify({ ship: 'Heron' }) });
  if (posted.status !== 202) throw new Error(`The trigger answered ${posted.status}.`);
  await until<{ tickets: Row[] }>('/api/factory/tickets', ({ tickets }) => tickets.length === 1);
});
await part('approvals', async () => {
  const asked = await make('/api/factory/gate', {
    tool: 'shell.exec',
    command: 'dredge',
    reason: 'the harbour master wants it',
    waitSeconds: 0,
  });
  await until<{ approvals: Row[] }>('/api/factory/approvals', ({ approvals }) =>
    approvals.some(({ id }) => id === asked.approvalId),
  );
  await make(`/api/factory/approvals/${asked.approvalId}/resolve`, { decision: 'approve' });
});
await part('queue', async () => {
  for (const command of ['sweep the pier', 'paint the sea']) await make('/beta/work', { payload: { command } });
  const { task, lease } = await ask<{ task: Row; lease: Row }>('GET', '/beta/work/queue?worker_id=broom');
  await make(`/beta/work/${task.id}/ack`, { worker_id: 'broom', lease_id: lease.id, result: { metres: 80 } });
});
await part('computer use', () => make('/computer-use/sessions', { metadata: { for: 'the harbour' } }));
await part('budget', () => ask('PUT', '/api/v1/usage/budget', { budgetCents: 5000, alertPercent: 80 }));

web.close();
engine.close();
gantry.child.kill('SIGTERM');
await gantry.ended;
for (const { pid } of hosts()) process.kill(pid, 'SIGTERM');
while (hosts().length > 0) await delay(50);

const kept: KeptHome = { commit, made: git('log', '-1', '--format=%cs'), at: Number(git('log', '-1', '--format=%ct')), without, rows: countRows(home) };
const beside = (name: string) => new URL(name, import.meta.url).pathname;
const leftOut = /^home\/(logs|run\/(?!panes(\/|$)))/;
await create(
  { cwd: place, file: beside(`${commit}.tar.gz`), gzip: { level: 9 }, portable: true, filter: (path) => !leftOut.test(path) },
  ['home', 'workspace'],
);
rmSync(place, { recursive: true, force: true });
writeFileSync(beside(`${commit}.json`), `${JSON.stringify(kept, null, 1)}\n`);
process.stdout.write(`${commit}: ${Object.keys(kept.rows).length} tables, without ${without.join(', ') || 'nothing'}\n`);
