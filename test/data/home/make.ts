/**
 * Makes the data folder that `test/host/data-home.test.ts` opens, with the Gantry of any commit:
 *
 *   node test/data/home/make.ts <folder of a checkout with its node_modules>
 *
 * Starts that Gantry in `place`, uses it as its person would, writes down what it answers, ends it, and packs its data and its workspace. Writes
 * `home.tar.gz` and `answers.json` beside this file.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { type Row, startToKeep } from '../../support/kept-home.ts';

/** Rows name the workspace by its path, so the test unpacks at the same one. */
const place = '/tmp/gantry-data-home';

/** The workspace: two teams, a template and a tool server. */
const files = {
  '.gantry/teams/crew/team.yaml': `name: crew
version: 1
bots:
  - bot: pilot
    role: pilot
    harness: shell
    env: { HARBOUR_KEY: "vault:HARBOUR_KEY" }
    command: printf %s "$HARBOUR_KEY" > .opened-by-pilot
  - bot: keeper
    role: keeper
    harness: shell
edges:
  - { kind: checks, from: keeper, to: pilot }
`,
  '.gantry/teams/night/team.yaml': `name: night
version: 1
bots:
  - { bot: watch, role: watch, harness: shell }
`,
  '.gantry/templates/ship.md': `# Ship it

Builds a version and publishes it once a person has looked.

\`\`\`yaml
params:
  - { name: version, required: true }
steps:
  - id: build
    title: Build {{ params.version }}
    command: echo built {{ params.version }}
  - id: publish
    title: Publish {{ params.version }}
    blocked_by: [build]
    wait_gate: { kind: manual, description: Look at it before it goes out }
    command: echo published {{ params.version }}
\`\`\`
`,
  /** A tool server that starts only with its key. */
  'tides.mjs': `import { createInterface } from 'node:readline';

if (process.env.TIDES_KEY !== 'high-water') process.exit(3);
const inputSchema = { type: 'object', properties: { hour: { type: 'integer' } }, additionalProperties: false };
const tools = [{ name: 'level', description: 'How high the water stands.', inputSchema, annotations: { readOnlyHint: true } }];
const serverInfo = { name: 'tides', version: '1.0.0' };
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: '3.2 m' }] }),
  ping: () => ({}),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const body = answer === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result: answer() };
  process.stdout.write(\`\${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\\n\`);
});
`,
};

const [given] = process.argv.slice(2);
if (given === undefined) throw new Error('Give the folder of a checkout.');
const checkout = resolve(given);
const commit = execFileSync('git', ['-C', checkout, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();

const { workspace, link, isOfEngine, ask, make, until, agree, stop, pack } = await startToKeep({
  checkout,
  place,
  files,
  more: ['--demo-phone'],
});
const flow = (dagId: string, status: string) =>
  until<{ status: string; nodes: Row[] }>(`/api/factory/dags/${dagId}`, (dag) => dag.status === status);

// The person: a browser, a key, what they want to hear of, what may be spent.
const opened = await fetch(link, { redirect: 'manual' });
const cookie = String(opened.headers.getSetCookie()[0]).split(';')[0];
const key = await make<{ secret: string }>('/api/v1/keys', { name: 'ci', scopes: ['agents:read', 'work', 'compute'] });
const { computer } = await ask<{ computer: Row }>('GET', '/api/v1/session');
await ask('PATCH', `/api/v1/computers/${computer.id}`, { name: 'Harbour desk' });
await ask('PUT', '/api/v1/notifications/preferences', { 'message.received': false });
await ask('PUT', '/api/v1/usage/budget', { budgetCents: 5000, alertPercent: 80 });

// The crew, with a secret, and what was said.
await agree();
await ask('PUT', '/api/factory/vault/HARBOUR_KEY', { value: 'under-the-mat' });
await ask('PUT', '/api/factory/models/local', { key: 'sk-harbour-1', baseUrl: 'http://127.0.0.1:9/v1', wire: 'openai' });
const calm = (count: number) =>
  until<{ agents: Row[] }>(
    '/api/factory/agents',
    ({ agents }) => agents.filter(({ state }) => state === 'idle').length === count,
  );
await make('/api/factory/teams/crew/up', {});
await make('/api/factory/teams/night/up', {});
await calm(3);
await make('/api/factory/teams/night/down', {});
await ask('PUT', '/api/factory/spending/limits', { subject: 'crew', dailyCents: 250 });
const thread = await make('/api/factory/threads', { title: 'Arrivals', bot: 'pilot@crew' });
const delivered = (id: string | undefined) =>
  until<{ deliveries: Row[] }>('/api/factory/deliveries', ({ deliveries }) =>
    deliveries.some((one) => one.id === id && one.state === 'verified'),
  );
for (const text of ['echo the harbour is open', 'echo two ships are in']) {
  const sent = await make('/api/factory/send', { to: 'pilot@crew', text, threadId: thread.id });
  await delivered(sent.id);
}
// As the bot itself writes and claims.
const bySelf = [
  'gantry orchestration mail --to owner --subject Done "All ships are moored."',
  'gantry workspace leases --claim-path docks --ttl 86400 --note "mooring"',
];
for (const text of bySelf) await delivered((await make('/api/factory/send', { to: 'keeper@crew', text })).id);
await until<{ mail: Row[] }>('/api/factory/mail', ({ mail }) => mail.length === 1);
await until<{ leases: Row[] }>('/api/factory/leases', ({ leases }) => leases.length === 1);
const mail = await make('/api/factory/mail', { to: 'pilot@crew', subject: 'Fog', text: 'Slow down off the pier.' });
await make('/api/factory/mail', { to: 'keeper@crew', subject: 'Lamp', text: 'It is lit at dusk.' });
await make('/api/factory/leases', { path: 'src/api', ttlSeconds: 86_400, note: 'renaming' });
await make('/api/factory/peers', { name: 'editor', about: 'An editor beside the bots', ttlSeconds: 3600 });
await make('/api/factory/steer', { agent: 'pilot@crew', action: 'checkpoint', note: 'before the storm' });

// Runs: one is done, one waits at its gate, one failed, one was cancelled.
const run = (template: string, params: Row) =>
  make('/api/factory/runs', { template, params, projectId: 'harbour', intent: 'Keep the harbour open' });
const done = await run('ship', { version: '1.0' });
const atGate = await flow(done.dagId as string, 'needs_you');
const [, gated] = atGate.nodes;
await make(`/api/factory/nodes/${done.dagId}/${gated?.nodeId}/gate`, { note: 'looks right' });
await flow(done.dagId as string, 'done');
const failed = await run('command', { command: 'echo no wind; exit 3' });
await flow(failed.dagId as string, 'failed');
const cancelled = await run('ship', { version: '0.9' });
await flow(cancelled.dagId as string, 'needs_you');
await make(`/api/factory/dags/${cancelled.dagId}/cancel`, {});
await flow(cancelled.dagId as string, 'cancelled');
const waiting = await run('ship', { version: '1.1' });
await flow(waiting.dagId as string, 'needs_you');

// Plans and times.
const template = { steps: [{ id: 'sail', command: 'echo sailing' }] };
const plan = await make('/api/factory/plans', { title: 'Regatta', intent: 'A race in June', template });
await make(`/api/factory/plans/${plan.id}/refine`, {
  revision: plan.revision,
  template: { steps: [...template.steps, { id: 'prize', blocked_by: ['sail'], command: 'echo a cup' }] },
  note: 'with a prize',
});
const dropped = await make('/api/factory/plans', { title: 'Fireworks', template });
await make(`/api/factory/plans/${dropped.id}/discard`, {});
const schedule = await make('/api/factory/schedules', {
  title: 'Morning report',
  run: { template: 'command', params: { command: 'echo good morning' }, projectId: 'harbour' },
  cron: '0 6 1 1 *',
  timezone: 'Europe/Berlin',
});
await make('/api/factory/schedules', {
  run: { template: 'ship', params: { version: '2.0' }, projectId: 'harbour' },
  cron: '30 4 * * *',
  timezone: 'UTC',
  paused: true,
});

// What comes from outside.
const trigger = await make('/api/factory/triggers', { botId: 'pilot@crew', title: 'A ship is in sight' });
for (const ship of ['Heron', 'Plover']) {
  const posted = await fetch(trigger.url as string, { method: 'POST', body: JSON.stringify({ ship }) });
  if (posted.status !== 202) throw new Error(`The trigger answered ${posted.status}.`);
}
const { tickets } = await until<{ tickets: Row[] }>('/api/factory/tickets', (answer) => answer.tickets.length === 2);
await make(`/api/factory/tickets/${tickets[1]?.id}/close`, { note: 'Heron is moored.' });
await calm(2);
const server = await make('/mcp/servers', {
  name: 'tides',
  transport: { type: 'stdio', command: 'node', args: [join(workspace, 'tides.mjs')], env: { TIDES_KEY: 'high-water' } },
});
await until<Row>(`/mcp/servers/${server.id}`, ({ status }) => status === 'connected');
await make('/api/v1/tools/tides.level/call', { arguments: { hour: 6 } });
const connector = await make('/api/v1/mcp/connectors', {
  name: 'issues',
  url: 'http://127.0.0.1:9/mcp',
  auth: { type: 'api_key', key: 'pier-7' },
});
await until<Row>(`/api/v1/mcp/connectors/${connector.id}`, ({ status }) => status === 'error');

// The phone.
const agents = (await ask<{ agents: Row[] }>('GET', '/api/factory/agents')).agents;
const pilot = agents.find(({ slug }) => slug === 'pilot')?.id;
const [theirs, ours] = ['+12025550102', '+13035550100'];
await make('/api/v1/phone/demo/speed', { speed: 'instant' });
const { number } = await make<{ number: Row }>('/api/v1/phone/numbers', {
  e164: ours,
  runtimeId: computer.id,
  botId: pilot,
});
const atNumber = `/api/v1/phone/numbers/${number.id}`;
await until<{ numbers: Row[] }>('/api/v1/phone/numbers', ({ numbers }) => numbers[0]?.voiceState === 'active');
await make(`${atNumber}/consent`, { e164: theirs, source: 'paper', evidence: 'Signed at the pier.' });
await make(`/api/v1/phone/demo/handsets/${encodeURIComponent(theirs)}/text`, { to: ours, text: 'May we moor tonight?' });
await until<{ messages: Row[] }>(`${atNumber}/messages`, ({ messages }) => messages.length === 1);
await until<{ threads: Row[] }>('/api/factory/threads', ({ threads }) => threads.some(({ channel }) => channel !== null));
await ask('PUT', `/api/v1/voice/bot-config/${pilot}`, { transferTargets: [{ e164: theirs, label: 'Harbour master' }] });

// Questions: one was approved, one rejected, one is open beside that of the run.
const question = async (command: string) => {
  const body = { tool: 'shell.exec', command, reason: 'the harbour master wants it', waitSeconds: 0 };
  return (await make('/api/factory/gate', body)).approvalId as string;
};
const questions: Row = {};
for (const tool of ['dredge', 'blast', 'deploy']) {
  questions[tool] = await question(tool);
}
const answer = (tool: string, decision: string) =>
  make(`/api/factory/approvals/${questions[tool]}/resolve`, { decision, note: `${decision}, said the harbour master` });
await until<{ approvals: Row[] }>('/api/factory/approvals', ({ approvals }) => approvals.length >= 6);
await answer('dredge', 'approve');
await answer('blast', 'reject');

// Hands, without a browser.
const session = await make('/computer-use/sessions', { metadata: { for: 'the harbour' } });

// The ledger, with a head that is kept outside of the database.
await make('/api/factory/ledger/export', {});

// The queue: a task in each state.
const work = await make('/beta/sessions', { title: 'Night shift' });
const deployment = await make('/beta/deployments', { name: 'pier' });
const task = async (payload: unknown, more: object = {}) => {
  const body = { payload, session_id: work.id, deployment_id: deployment.id, ...more };
  return (await make<{ id: string }>('/beta/work', body)).id;
};
const lease = (worker: string) => ask<{ task: Row; lease: Row }>('GET', `/beta/work/queue?worker_id=${worker}`);
const tasks: Row = {
  succeeded: await task({ command: 'sweep the pier' }),
  failed: await task({ command: 'paint the sea' }),
  cancelled: await task({ command: 'count the gulls' }),
  later: await task({ command: 'light the lamp' }, { not_before: '2100-01-01T00:00:00Z' }),
};
const swept = await lease('broom');
await make(`/beta/work/${tasks.succeeded}/ack`, { worker_id: 'broom', lease_id: swept.lease.id, result: { metres: 80 } });
const painted = await lease('brush');
await make(`/beta/work/${tasks.failed}/stop`, {
  worker_id: 'brush',
  lease_id: painted.lease.id,
  error: { code: 'out_of_paint', message: 'The sea is too big.' },
});
await make(`/beta/work/${tasks.cancelled}/stop`, {});
tasks.running = await task({ command: 'haul the net' }, { env: { NET: 'fine' } });
tasks.queued = await task({ command: 'mend the net' }, { priority: -5 });
await make(`/beta/work/${tasks.queued}/stop`, {});
await make(`/beta/work/${tasks.queued}/retry`, {});

// Notices: what is there now is read, what comes now is not.
await until<{ total: number }>('/api/v1/notifications', ({ total }) => total >= 4);
await make('/api/v1/notifications/read', { all: true });
await question('anchor');
await until<{ unread: number }>('/api/v1/notifications', ({ unread }) => unread >= 1);
await calm(2);
await until<{ deliveries: Row[] }>('/api/factory/deliveries', ({ deliveries }) =>
  deliveries.every(({ state }) => state === 'verified'),
);
// Last, because a lease is for a minute.
const held = await lease('winch');
await make(`/beta/work/${held.task.id}/heartbeat`, { worker_id: 'winch', lease_id: held.lease.id });

const ofRun = (dagId: string | undefined) => `/api/factory/dags/${dagId}`;
const nodesOf = async (dagId: string | undefined) =>
  (await ask<{ nodes: Row[] }>('GET', ofRun(dagId))).nodes.map((node) => `/api/factory/nodes/${dagId}/${node.nodeId}`);
const of = async (path: string, member: string, below = (id: string) => `${path}/${id}`) => [
  path,
  ...(await ask<Record<string, Row[]>>('GET', path))[member]!.map(({ id }) => below(id as string)),
];
const paths = [
  '/api/factory/workspace',
  '/api/factory/workspace/trust',
  '/api/factory/teams',
  '/api/factory/teams/crew/check',
  ...(await of('/api/factory/agents', 'agents')),
  '/api/factory/templates',
  '/api/factory/templates/ship',
  '/api/factory/templates/ship/check',
  '/api/factory/projects',
  ...(await of('/api/factory/campaigns', 'campaigns', (id) => `/api/factory/campaigns/${id}/board`)),
  ...[done, failed, cancelled, waiting].map(({ dagId }) => ofRun(dagId)),
  ...(await nodesOf(done.dagId)),
  ...(await nodesOf(failed.dagId)),
  ...(await nodesOf(waiting.dagId)),
  '/api/factory/nodes',
  '/api/factory/deliveries',
  ...(await of('/api/factory/threads', 'threads', (id) => `/api/factory/threads/${id}/messages`)),
  '/api/factory/mail',
  '/api/factory/mail?bot=keeper@crew&box=out',
  '/api/factory/mail?bot=pilot@crew',
  `/api/factory/mail/${mail.id}`,
  '/api/factory/leases',
  ...(await of('/api/factory/plans', 'plans')),
  '/api/factory/schedules',
  `/api/factory/schedules/${schedule.id}/runs`,
  '/api/factory/triggers',
  ...(await of('/api/factory/tickets', 'tickets')),
  '/api/factory/vault',
  '/api/factory/models',
  '/api/factory/peers',
  '/api/factory/guests',
  '/api/factory/steer',
  '/api/factory/agent-runs',
  '/api/factory/spending',
  '/api/factory/search?q=harbour',
  `/api/factory/why/${pilot}`,
  `/api/factory/why/${waiting.dagId}`,
  '/api/factory/approvals',
  '/api/factory/ledger?limit=200',
  '/api/factory/ledger/verify',
  '/mcp/servers',
  `/mcp/servers/${server.id}`,
  '/api/v1/tools?names=safe',
  '/api/v1/mcp/connectors',
  `/api/v1/mcp/connectors/${connector.id}`,
  '/computer-use/sessions',
  `/computer-use/sessions/${session.session_id}`,
  '/computer-use/runs',
  '/api/v1/session',
  '/api/v1/sessions',
  '/api/v1/keys',
  '/api/v1/computers',
  '/api/v1/pairing',
  '/api/v1/admin/users',
  '/api/v1/admin/projects',
  '/api/v1/admin/prices',
  '/api/v1/admin/pool',
  '/api/v1/notifications',
  '/api/v1/notifications/preferences',
  '/api/v1/push/key',
  '/api/v1/push/subscriptions',
  '/api/v1/usage',
  '/api/v1/usage/budget',
  '/api/v1/phone/numbers',
  ...['conversations', 'messages', 'consents', 'opt-outs', 'calls', 'invites'].map((noun) => `${atNumber}/${noun}`),
  '/api/v1/phone/demo',
  `/api/v1/voice/bot-config/${pilot}`,
  ...['succeeded', 'failed', 'cancelled', 'queued'].map((status) => `/beta/work?status=${status}`),
  ...Object.values(tasks).map((id) => `/beta/work/${id}`),
  '/beta/work/stats',
  '/beta/work/workers',
  '/beta/sessions',
  '/beta/deployments',
];
const reads: { door: string; path: string; answer: unknown }[] = [];
for (const path of paths) {
  reads.push({ door: isOfEngine(path) ? 'engine' : 'web', path, answer: await ask<unknown>('GET', path) });
}
const { checks } = await ask<{ checks: Row[] }>('GET', '/api/factory/doctor');
// Without the details, which name programs and folders of the computer.
const doctor = { checks: checks.map(({ name, group, state }) => ({ name, group, state })) };
reads.push({ door: 'engine', path: '/api/factory/doctor', answer: doctor });
const at = Date.now();

await stop();
await pack(new URL('home.tar.gz', import.meta.url).pathname, /^workspace\/\.opened-by-pilot/);
const known = { place, commit, at, cookie, key: key.secret, trigger: trigger.key, task: held.task.id, lease: held.lease.id };
// The name of the machine that made it is nobody's business.
const text = JSON.stringify({ ...known, reads }, null, 1).replaceAll(JSON.stringify(hostname()), '"a computer"');
writeFileSync(new URL('answers.json', import.meta.url), `${text}\n`);
