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
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CallError } from '../../support/bench/http.ts';
import { type Row, startToKeep } from '../../support/kept-home.ts';
import { countRows, type KeptHome, placeOf } from './open.ts';

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
const { home, ask, make, until, agree, stop, pack } = await startToKeep({ checkout, place: placeOf(commit), files });

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
  await agree();
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

await stop();

const kept: KeptHome = { commit, made: git('log', '-1', '--format=%cs'), at: Number(git('log', '-1', '--format=%ct')), without, rows: countRows(home) };
const beside = (name: string) => new URL(name, import.meta.url).pathname;
await pack(beside(`${commit}.tar.gz`));
writeFileSync(beside(`${commit}.json`), `${JSON.stringify(kept, null, 1)}\n`);
process.stdout.write(`${commit}: ${Object.keys(kept.rows).length} tables, without ${without.join(', ') || 'nothing'}\n`);
