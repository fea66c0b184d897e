import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { factoryEvents } from '../../../src/contracts/factory/events.ts';
import type { NodeCard, NodePage } from '../../../src/contracts/factory/node.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { largestProof } from '../../../src/contracts/factory/workflow-routes.ts';
import { type Engine, ownerToken, startEngine, waitFor } from '../engine.ts';
import { openStream } from '../sse.ts';

const team = `bots:
  - bot: coder
    role: coder
    harness: shell
`;
const template = (value: unknown) => JSON.stringify(value);
const flowOf = (engine: Engine, dagId: string, fits: (flow: Flow) => boolean) =>
  waitFor(
    () => engine.call<Flow>('GET', `/dags/${dagId}`),
    ({ body }) => fits(body),
  );
const statusOf = (flow: Flow, step: string) => flow.nodes.find((node) => node.stepId === step)?.status;

async function upload(
  engine: Engine,
  path: string,
  form: FormData,
  token = ownerToken,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${engine.url}/api/factory${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: form,
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown> & { error?: { code: string; fact: string } },
  };
}

function form(line: string | null, file: Blob | null, name = 'proof.txt'): FormData {
  const data = new FormData();
  if (line !== null) data.set('line', line);
  if (file !== null) data.set('file', file, name);
  return data;
}

test('a bot in its pane is handed its step, proves it by a file with its own token, and the events tell it', async () => {
  const engine = await startEngine();
  engine.team('dev', team);
  engine.write(
    '.gantry/templates/fix.json',
    template({
      steps: [
        { id: 'find', command: 'echo broken here' },
        {
          id: 'fix',
          title: 'Fix it',
          executor: 'role:coder',
          blocked_by: ['find'],
          description: 'It says {{ step.find.output }}',
          proof: [{ line: 'what was wrong' }],
          verify: { command: 'test -e fixed' },
        },
      ],
    }),
  );
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('coder@dev', 'idle');
  const events = await openStream(engine, '/events?after=0');
  const plan = await engine.call('POST', '/runs', { template: 'fix', projectId: 'p', dryRun: true });
  expect(plan.body).toMatchObject({
    dryRun: true,
    plan: { nodes: [{ executor: 'shell' }, { executor: 'coder@dev' }] },
  });
  const { body } = await engine.call<RunStarted>('POST', '/runs', { template: 'fix', projectId: 'p' });
  const { dagId } = body;
  await flowOf(engine, dagId, (flow) => statusOf(flow, 'fix') === 'working');
  const capture = await waitFor(
    () => engine.call<{ text: string }>('GET', '/agents/coder@dev/capture?lines=200'),
    ({ body: seen }) => seen.text.includes(`gantry workspace done ${dagId}`),
  );
  expect(capture.body.text).toContain('From Gantry');
  expect(capture.body.text).toContain('It says broken here');

  const token = await engine.botToken('coder@dev');
  const node = `/nodes/${dagId}/fix`;
  const own = await engine.call<{ nodes: NodeCard[] }>('GET', '/nodes', undefined, { token });
  expect(own.body.nodes.map((card) => card.stepId)).toEqual(['fix']);
  expect(await engine.agent('coder@dev')).toMatchObject({
    currentNode: { dagId, nodeId: own.body.nodes[0]?.nodeId, title: 'Fix it' },
    proof: { proven: 0, total: 2 },
  });
  const early = await engine.call('POST', `${node}/done`, {}, { token });
  expect(early).toMatchObject({
    status: 409,
    body: { error: { code: 'refused', fact: 'Fix it has no proof of: what was wrong.' } },
  });
  const text = 'a screw was loose';
  const proof = await upload(
    engine,
    `${node}/proof`,
    form('what was wrong', new Blob([text], { type: 'text/plain' })),
    token,
  );
  expect(proof).toMatchObject({
    status: 200,
    body: { path: expect.stringMatching(/^\.gantry\/ledger\/proofs\/..\//), receiptId: expect.stringMatching(/^\d+$/) },
  });
  const read = await fetch(`${engine.url}/api/factory${node}/proofs/${proof.body.receiptId}`, {
    headers: { authorization: `Bearer ${ownerToken}` },
  });
  expect([await read.text(), read.headers.get('content-type'), read.headers.get('content-security-policy')]).toEqual([
    text,
    'text/plain; charset=utf-8',
    "default-src 'none'; sandbox",
  ]);
  writeFileSync(join(engine.workspace, 'fixed'), '');
  expect((await engine.call('POST', `${node}/done`, { output: 'tightened' }, { token })).status).toBe(200);
  await flowOf(engine, dagId, (flow) => flow.status === 'done');
  expect(await engine.agent('coder@dev')).toMatchObject({ currentNode: null, proof: { proven: 0, total: 0 } });
  const page = await engine.call<NodePage>('GET', node);
  expect(page.body).toMatchObject({
    card: { proof: { proven: 2, total: 2 }, assignee: 'coder@dev', bindingType: 'terminal' },
    output: 'tightened',
    deliveries: [{ to: 'coder@dev', state: 'verified', dagId }],
    files: [{ name: 'proof.txt', size: text.length, mime: 'text/plain' }, { name: 'fix-1-verify.log' }],
  });
  for (const verb of ['retry', 'skip', 'gate']) {
    expect((await engine.call('POST', `${node}/${verb}`, {}, { token })).status, verb).toBe(403);
  }
  const last = await events.next(
    ({ data }) =>
      data.type === 'node.status' && data.data?.status === 'done' && data.data.nodeId === page.body.card.nodeId,
  );
  expect(last.id).toMatch(/^\d+$/);
  for (const { data } of events.events) {
    if (data.type === 'node.status' || data.type === 'proof.recorded') factoryEvents[data.type].parse(data.data);
  }
  expect(
    events.events.filter(({ data }) => data.type === 'proof.recorded').map(({ data }) => data.data?.outcome),
  ).toEqual(['proven', 'proven', 'proven']);
  events.close();
  expect((await engine.ledger.verify()).ok).toBe(true);

  // The receipt names the file by its hash: what was changed or taken away since proves nothing, and is said.
  const path = `${node}/proofs/${proof.body.receiptId}`;
  const file = join(engine.workspace, String(proof.body.path));
  chmodSync(file, 0o600);
  writeFileSync(file, 'a screw was fine!');
  expect(await engine.call('GET', path)).toMatchObject({
    status: 409,
    body: { error: { fact: expect.stringContaining('it has been changed') } },
  });
  rmSync(file);
  expect(await engine.call('GET', path)).toMatchObject({ status: 404 });
});

test('a file that is too large, cut off, or not what was asked for leaves nothing behind', async () => {
  const engine = await startEngine();
  engine.write(
    '.gantry/templates/t.json',
    template({ steps: [{ id: 'a', command: 'true', wait_gate: { kind: 'manual' }, proof: [{ line: 'l' }] }] }),
  );
  const { body } = await engine.call<RunStarted>('POST', '/runs', { template: 't', projectId: 'p' });
  const path = `/nodes/${body.dagId}/a/proof`;
  const file = new Blob(['x']);
  const facts = async (data: FormData) => {
    const answer = await upload(engine, path, data);
    return `${answer.status} ${answer.body.error?.code} ${answer.body.error?.fact}`;
  };
  expect(await facts(form('l', new Blob([new Uint8Array(largestProof + 1)])))).toBe(
    `400 usage The file is larger than ${largestProof} bytes.`,
  );
  expect(await facts(form('other', file))).toBe('400 usage "other" is not a line of a.');
  expect(await facts(form(null, file))).toBe('400 usage The form has no part "line".');
  expect(await facts(form('l', null))).toBe('400 usage The form has no part "file".');
  const json = await engine.call('POST', path, { line: 'l' });
  expect(json).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
  expect((await upload(engine, `/nodes/${body.dagId}/nothing/proof`, form('l', file))).status).toBe(404);
  const abort = new AbortController();
  const cut = fetch(`${engine.url}/api/factory${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ownerToken}`, 'content-type': 'multipart/form-data; boundary=XX' },
    body: new ReadableStream({
      start(controller) {
        controller.enqueue(
          new TextEncoder().encode('--XX\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nhalf'),
        );
        // When half of it has arrived.
        setTimeout(() => abort.abort(), 50);
      },
    }),
    duplex: 'half',
    signal: abort.signal,
  } as RequestInit);
  await expect(cut).rejects.toThrow();
  const { readdirSync } = await import('node:fs');
  const left = () =>
    readdirSync(join(engine.workspace, '.gantry/ledger/proofs'), { recursive: true, withFileTypes: true }).filter(
      (one) => one.isFile(),
    );
  await waitFor(
    async () => left(),
    (files) => files.length === 0,
  );
  const plan = await upload(engine, `${path}?dryRun=1`, form('l', file));
  expect(plan.body).toMatchObject({ dryRun: true, plan: { line: 'l', size: 1 } });
  expect(left()).toEqual([]);
  expect((await upload(engine, path, form('l', file))).status).toBe(200);
  expect(left()).toHaveLength(1);
});

test('refusals of templates and runs have the code and status of the contract', async () => {
  const engine = await startEngine();
  engine.write('.gantry/templates/t.json', template({ steps: [{ id: 'a', executor: 'role:coder', title: 'A' }] }));
  const refused = async (method: string, path: string, body?: unknown) => {
    const answer = await engine.call<{ error: { code: string } }>(method, path, body);
    return `${answer.status} ${answer.body.error?.code}`;
  };
  expect(await refused('GET', '/templates/nope')).toBe('404 not_found');
  expect(await refused('GET', '/templates/a%2Fb')).toBe('404 not_found');
  expect(await refused('POST', '/templates', { fromRun: 'dag_x', id: 'a/b' })).toBe('400 usage');
  expect(await refused('POST', '/templates', { fromRun: 'dag_x' })).toBe('404 not_found');
  expect(await refused('POST', '/runs', { template: 't', projectId: 'p' })).toBe('400 usage');
  expect(await refused('POST', '/runs', { template: 't', projectId: 'p', colour: 'red' })).toBe('400 usage');
  expect(await refused('POST', '/runs', { template: 't', campaignId: 'c' })).toBe('404 not_found');
  expect(await refused('GET', '/dags/dag_x')).toBe('404 not_found');
  expect(await refused('GET', '/campaigns/c/board')).toBe('404 not_found');
  const templates = await engine.call<{ templates: { id: string }[] }>('GET', '/templates');
  expect(templates.body.templates.map((one) => one.id)).toEqual(
    expect.arrayContaining(['t', 'find-fix-prove', 'command', 'ask-a-bot']),
  );
  expect((await engine.call<{ ok: boolean }>('GET', '/templates/find-fix-prove/check')).body.ok).toBe(true);
});

test('the same key starts one run', async () => {
  const engine = await startEngine();
  const start = () =>
    engine.call<RunStarted>(
      'POST',
      '/runs',
      { template: 'command', projectId: 'p', params: { command: 'echo $((40+2))' } },
      { headers: { 'idempotency-key': 'k1' } },
    );
  const [first, second] = await Promise.all([start(), start()]);
  expect(second.body.dagId).toBe(first.body.dagId);
  await flowOf(engine, first.body.dagId, (flow) => flow.status === 'done');
  const page = await engine.call<NodePage>('GET', `/nodes/${first.body.dagId}/run`);
  expect(page.body).toMatchObject({ output: '42', card: { title: 'Run echo $((40+2))' } });
});

test('find, fix, prove runs to its end: the bot is asked only when something fails, and the check has the last word', async () => {
  const engine = await startEngine();
  engine.team('dev', team);
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('coder@dev', 'idle');
  const params = { check: 'test -e mended || { echo it is broken; exit 3; }' };
  const { body } = await engine.call<RunStarted>('POST', '/runs', {
    template: 'find-fix-prove',
    projectId: 'p',
    params,
  });
  const { dagId } = body;
  await flowOf(engine, dagId, (flow) => statusOf(flow, 'fix') === 'working');
  const token = await engine.botToken('coder@dev');
  expect((await engine.call<NodePage>('GET', `/nodes/${dagId}/fix`)).body.spec).toContain('it is broken\nstatus 3');
  await engine.call('POST', `/nodes/${dagId}/fix/done`, {}, { token });
  await flowOf(engine, dagId, (flow) => flow.nodes[1]?.attempt === 2 && statusOf(flow, 'fix') === 'working');
  writeFileSync(join(engine.workspace, 'mended'), '');
  await engine.call('POST', `/nodes/${dagId}/fix/done`, {}, { token });
  await flowOf(engine, dagId, (flow) => flow.status === 'done');
  const again = await engine.call<RunStarted>('POST', '/runs', { template: 'find-fix-prove', projectId: 'p', params });
  const { body: flow } = await flowOf(engine, again.body.dagId, (one) => one.status !== 'running');
  expect([flow.status, flow.nodes.map((one) => one.status)]).toEqual(['done', ['done', 'skipped', 'skipped']]);
});

test('a manual gate stands in the inbox over a restart, and its approval opens it with the name of who approved', async () => {
  const engine = await startEngine();
  engine.write(
    '.gantry/templates/gated.json',
    JSON.stringify({
      steps: [{ id: 'out', command: 'true', wait_gate: { kind: 'manual', description: 'Read the notes first' } }],
    }),
  );
  const started = await engine.call<RunStarted>('POST', '/runs', { template: 'gated', projectId: 'p' });
  const { dagId } = started.body;
  const question = async () => {
    const live = await engine.approvals.live();
    expect(live).toHaveLength(1);
    return live[0]?.id ?? '';
  };
  const id = await vi.waitFor(question, { timeout: 20_000 });
  await engine.restart();
  expect(await vi.waitFor(question, { timeout: 20_000 })).toBe(id);
  const page = () => engine.call<NodePage>('GET', `/nodes/${dagId}/out`);
  expect((await page()).body.approval).toMatchObject({ id, state: 'pending', kind: 'wait_gate', source: 'workflow' });
  const at = new Date().toISOString();
  const resolvedBy = { user: 'user_local', surface: 'browser' };
  expect(await engine.approvals.answer({ id, decision: 'approve', note: 'read them', resolvedBy, at })).toBe('applied');
  await flowOf(engine, dagId, (flow) => flow.status === 'done');
  const { approval, history } = (await page()).body;
  expect(approval).toMatchObject({ id, state: 'resolved', decision: 'approve', note: 'read them' });
  expect(history.find((move) => move.cause === 'gate_open')).toMatchObject({
    actor: 'user_local',
    detail: 'read them',
  });
  // There is nothing left to answer or to open.
  expect(await engine.approvals.answer({ id, decision: 'reject', note: null, resolvedBy, at })).toBe('gone');
  expect((await engine.call('POST', `/nodes/${dagId}/out/gate`, {})).status).toBe(409);
});
