/** A Gantry in which there is one of each thing that an example of the API names, and what the ids of the examples are in it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exampleIds } from '../../scripts/api-examples.ts';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { scratchHome } from '../host/support.ts';
import { onEnd } from '../kit/http/support.ts';
import { installStandInClaude } from '../support/stand-in-claude/install.ts';
import { root } from './blocks.ts';

export interface World {
  /** What `$NAME` is in a line for a shell. */
  readonly values: Readonly<Record<string, string>>;
  readonly ids: ReadonlyMap<string, string>;
}

export async function startWorld(): Promise<World> {
  const home = scratchHome();
  const workspace = writeWorkspace();
  const bin = installStandInClaude(join(home, 'bin'));
  const PATH = `${bin}:${process.env.PATH}`;
  const env = { ...process.env, PATH, HOME: home, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  const gantry: Combined = await startCombined({
    env,
    settings: readSettings(env),
    workspace,
    gantry: 'npx gantry',
    answers: 'throw',
    demoPhone: true,
  });
  onEnd(() => gantry.close({ stopBots: true }));
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  const values = {
    GANTRY_URL: gantry.origin,
    GANTRY_ENGINE_URL: gantry.engineUrl,
    GANTRY_TOKEN: token,
    GANTRY_SERVICE_TOKEN: readFileSync(placesIn(home).internalToken, 'utf8').trim(),
    GANTRY_BOT_TOKEN: 'none',
  };
  return { values, ids: await prepare(gantry.origin, token, workspace) };
}

/** A git repository outside the data folder, with a bot that has a branch of its own. */
function writeWorkspace(): string {
  const workspace = mkdtempSync(join(tmpdir(), 'gantry-api-'));
  onEnd(async () => rmSync(workspace, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  writeTeam(workspace, 'makers', 'bots:\n  - { bot: maker, harness: shell, worktree: true }\n');
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], { cwd: workspace });
  git('init', '--quiet', '--initial-branch', 'main');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Begin');
  return workspace;
}

function writeTeam(workspace: string, name: string, text: string): void {
  const folder = join(workspace, '.gantry', 'teams', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), text);
}

/** Makes one of each. */
async function prepare(origin: string, token: string, workspace: string): Promise<ReadonlyMap<string, string>> {
  const ask = async (method: string, path: string, body?: unknown) => {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : isForm ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text || '{}');
  };
  const ids = new Map<string, string>();
  const is = (example: string, id: string) => {
    if (typeof id !== 'string') throw new Error(`Nothing was made for ${example}.`);
    ids.set(example, id);
  };
  const factory = '/api/factory';
  const agree = async () => {
    const { hash } = await ask('GET', `${factory}/workspace/trust`);
    if (hash !== null) await ask('POST', `${factory}/workspace/trust`, { answer: 'yes', hash });
  };
  await agree();
  await ask('POST', `${factory}/workspace/demo`, {});
  await agree();
  for (const team of ['demo', 'makers']) await ask('POST', `${factory}/teams/${team}/up`, {});

  // A step that waits at a gate, with a proof.
  await ask('POST', `${factory}/projects`, { id: 'docs' });
  const template = {
    name: 'Gate',
    steps: [{ id: exampleIds.nodeId, command: 'echo yes', wait_gate: { kind: 'manual', description: 'Go?' } }],
  };
  const draft = () => ask('POST', `${factory}/plans`, { title: 'Gate', template });
  const run = await ask('POST', `${factory}/plans/${(await draft()).id}/run`, { projectId: 'docs' });
  is(exampleIds.run, run.dagId);
  is(exampleIds.plan, (await draft()).id);
  const proof = new FormData();
  proof.append('line', 'It was looked at');
  proof.append('file', new Blob(['It works.']), 'result.txt');
  const { receiptId } = await ask('POST', `${factory}/nodes/${run.dagId}/${exampleIds.nodeId}/proof`, proof);
  is(exampleIds.receiptId, receiptId);

  is(exampleIds.repository, workspace);
  const trees = execFileSync('git', ['worktree', 'list', '--porcelain'], { cwd: workspace, encoding: 'utf8' });
  const tree = [...trees.matchAll(/^worktree (.*)$/gm)].at(-1)?.[1] as string;
  writeFileSync(join(tree, 'made.txt'), 'It works.');

  // What people and bots make of the work engine.
  is(exampleIds.schedule, (await ask('POST', `${factory}/schedules`, schedule)).id);
  is(
    exampleIds.mail,
    (await ask('POST', `${factory}/mail`, { to: exampleIds.agent, subject: 'Hello', text: 'Hello' })).id,
  );
  is(exampleIds.lease, (await ask('POST', `${factory}/leases`, { name: 'release' })).id);
  is(exampleIds.peer, (await ask('POST', `${factory}/peers`, { name: 'ci' })).id);
  is(exampleIds.thread, (await ask('POST', `${factory}/threads`, { title: 'Release' })).id);
  const trigger = await ask('POST', `${factory}/triggers`, { botId: exampleIds.agent, title: 'Issues' });
  is(exampleIds.trigger, trigger.id);
  is(exampleIds.triggerKey, trigger.key);
  await ask('POST', `/webhooks/triggers/${trigger.key}`, { issue: 41 });
  await ask('PUT', `${factory}/vault/${exampleIds.secret}`, { value: 'secret' });
  await ask('POST', `${factory}/accounts`, { program: 'claude', account: 'private' });
  for (const name of ['lmstudio', 'ollama'])
    await ask('PUT', `${factory}/models/${name}`, { baseUrl: 'http://127.0.0.1:1234/v1' });
  await ask('POST', `${factory}/gate`, { tool: 'shell.exec', command: 'npm publish', waitSeconds: 0 });
  const one = async (path: string, list: string) => {
    for (let tries = 0; tries < 200; tries += 1) {
      const found = (await ask('GET', path))[list][0];
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${path} lists none.`);
  };
  is(exampleIds.approval, (await one(`${factory}/approvals`, 'approvals')).id);
  is(exampleIds.ticket, (await one(`${factory}/tickets`, 'tickets')).id);

  // The cloud's.
  is(exampleIds.computer, (await ask('GET', '/api/v1/session')).computer.id);
  const { url } = await ask('POST', '/api/v1/open-codes', {});
  await fetch(url, { redirect: 'manual' });
  is(exampleIds.session, (await one('/api/v1/sessions', 'sessions')).id);
  is(exampleIds.openCode, new URL((await ask('POST', '/api/v1/open-codes', {})).url).searchParams.get('t') as string);
  const key = async () => (await ask('POST', '/api/v1/keys', { name: 'ci', scopes: ['agents:read'] })).key.id;
  is(exampleIds.key, await key());
  is(exampleIds.secondKey, await key());
  await ask('POST', '/api/v1/admin/projects', { id: exampleIds.project, userId: exampleIds.user });
  const device = {
    endpoint: 'https://push.example/other',
    keys: { p256dh: `B${'A'.repeat(86)}`, auth: 'A'.repeat(22) },
  };
  is(exampleIds.device, (await ask('POST', '/api/v1/push/subscriptions', device)).id);
  const task = async () => (await ask('POST', '/beta/work', { payload: {} })).id;
  for (const id of [exampleIds.task, exampleIds.leasedTask]) {
    is(id, await task());
    await ask('GET', '/beta/work/queue?worker_id=worker-1&wait=0');
  }
  for (const id of [exampleIds.runningTask, exampleIds.secondRunningTask]) is(id, await task());
  for (const id of [exampleIds.endedTask, exampleIds.secondEndedTask]) {
    is(id, await task());
    await ask('POST', `/beta/work/${ids.get(id)}/stop`, {});
  }
  await ask('PUT', '/beta/work/files/step.bundle/0', { data: 'aGVsbG8=' });
  is(exampleIds.work_session, (await ask('POST', '/beta/sessions', {})).id);
  is(exampleIds.deployment, (await ask('POST', '/beta/deployments', { name: 'ci' })).id);
  is(exampleIds['computer-use-session'], (await ask('POST', '/computer-use/sessions', {})).session_id);
  is(
    exampleIds['computer-use-run'],
    (await ask('POST', '/computer-use/execute', { mode: 'direct', actions: [action] })).run_id,
  );
  is(exampleIds.server, (await ask('POST', '/mcp/servers', attached)).id);

  // A service with events, and the phone of the demo.
  const shop = await startShop();
  const connectors = '/api/v1/mcp/connectors';
  is(exampleIds.connector, (await ask('POST', connectors, { name: 'shop', url: shop })).id);
  is(exampleIds.secondConnector, (await ask('POST', connectors, { name: 'second', url: shop })).id);
  const events = `${connectors}/${ids.get(exampleIds.connector)}/events`;
  for (const [id, country] of [
    [exampleIds.sid, 'AT'],
    [exampleIds.secondSubscription, 'CH'],
  ] as const) {
    const wanted = { name: exampleIds.eventName, arguments: { country }, botId: exampleIds.agent };
    is(id, (await ask('POST', events, wanted)).subscription.id);
  }
  const [found] = (await ask('GET', '/api/v1/phone/numbers/search?areaCode=970&limit=1')).numbers;
  const number = { e164: found.e164, runtimeId: ids.get(exampleIds.computer), botId: 'root' };
  is(exampleIds.phoneNumber, (await ask('POST', '/api/v1/phone/numbers', number)).number.id);
  is(exampleIds.ownNumber, found.e164);
  const { invite } = await ask('POST', `/api/v1/phone/numbers/${ids.get(exampleIds.phoneNumber)}/invites`, {});
  is(exampleIds.invite, invite.id);
  is(exampleIds.token, invite.url.split('/').at(-1));

  // Last, so that something waits for a yes.
  writeTeam(workspace, 'waiting', 'bots:\n  - { bot: waiting, harness: shell }\n');
  is(exampleIds.hash, (await ask('GET', `${factory}/workspace/trust`)).hash);
  return ids;
}

const schedule = {
  cron: '0 6 * * *',
  run: { template: 'command', params: { command: 'echo yes' }, projectId: 'docs' },
};
const action = { toolset: 'browser', member: 'get_page_text', input: {} };
const attached = {
  name: 'files',
  transport: {
    type: 'stdio',
    command: process.execPath,
    args: [join(root, 'test', 'support', 'attached', 'stdio.ts')],
  },
};

/** The shop of examples/mcp-events. */
async function startShop(): Promise<string> {
  const program = join(root, 'examples', 'mcp-events', 'server.mjs');
  const child = spawn(process.execPath, [program, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onEnd(async () => {
    child.kill();
    await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return line.toString().trim();
}
