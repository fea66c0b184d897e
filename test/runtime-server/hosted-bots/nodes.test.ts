/** Hosted bots carry out steps of runs by the same verbs as bots in panes, check steps, stop with their run, and survive a restart. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { NodeCard, NodePage } from '../../../src/contracts/factory/node.ts';
import type { Flow } from '../../../src/contracts/factory/workflow.ts';
import { addLine, insertTurn } from '../../../src/runtime-server/hosted-bots/store.ts';
import { inOrder, text, tools } from '../../support/model-server/script.ts';
import { type Floor, openFloor, steps, waits } from './support.ts';

let floor: Floor;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  floor = await openFloor({ onEnd: (end) => void ends.push(end), recheckMs: 200 });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const edits = 'model: claude-x, permissions: ACCEPT_EDITS';
let templates = 0;
async function start(
  team: string,
  step: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<{ dagId: string; nodeId: string }> {
  templates += 1;
  const id = `t${templates}`;
  const spec = {
    name: id,
    steps: [{ id: 'make', title: 'Make it', executor: 'role:maker', description: 'Write made.txt.', ...step }],
    ...more,
  };
  floor.engine.write(`.gantry/templates/${id}.json`, JSON.stringify(spec));
  const run = await floor.engine.call<{ dagId: string; nodes: NodeCard[] }>('POST', '/runs', {
    template: id,
    projectId: 'p1',
    team,
  });
  expect(run.status, JSON.stringify(run.body)).toBe(200);
  return { dagId: run.body.dagId, nodeId: run.body.nodes[0]?.nodeId ?? '' };
}
const page = async ({ dagId, nodeId }: { dagId: string; nodeId: string }) =>
  (await floor.engine.call<NodePage>('GET', `/nodes/${dagId}/${nodeId}`)).body;
const until = (ref: { dagId: string; nodeId: string }, status: string) =>
  vi.waitFor(async () => {
    const now = await page(ref);
    expect(now.card.status, JSON.stringify(now.card)).toBe(status);
    return now;
  }, waits);

test('a step is done with progress, a file as proof, and a result; the person accepts what nobody else can check', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', edits);
  server.script(
    steps(
      (request) => {
        expect(request.tools).toContain('node_done');
        expect(request.lastUser).toContain('Step "Make it"');
        return tools(
          { name: 'node_progress', input: { text: 'I begin.' } },
          { name: 'file_write', input: { path: 'made.txt', content: 'made\n' } },
        );
      },
      tools({ name: 'node_proof', input: { line: 'The file', path: 'made.txt' } }),
      tools({ name: 'node_done', input: { output: 'made.txt is there' } }),
      text('Done.'),
    ),
  );
  const ref = await start(bot.split('@')[1] as string, { proof: [{ line: 'The file', required: true }] });
  const done = await until(ref, 'needs_you');
  expect(done).toMatchObject({
    card: { cause: 'proof_to_accept', bindingType: 'hosted', assignee: bot },
    output: 'made.txt is there',
  });
  expect(done.progressMd).toContain(`${bot}: I begin.`);
  expect(done.proofs).toMatchObject([{ line: 'The file', outcome: 'proven' }]);
  expect(done.files).toMatchObject([{ name: 'made.txt', mime: 'text/plain', size: 5 }]);
  expect(done.deliveries).toMatchObject([{ via: 'hosted', state: 'verified', evidence: 'model' }]);
  expect((await engine.call('POST', `/nodes/${ref.dagId}/${ref.nodeId}/done`, {})).status).toBe(200);
  await until(ref, 'done');
  expect(await engine.until(bot, 'idle')).toMatchObject({ stateReason: null });
});

test('without a verb the last text is the result; while proof is missing the bot is told, and gives up in the end', async () => {
  const { server } = floor;
  const bot = await floor.team('dev', edits);
  const team = bot.split('@')[1] as string;
  server.script(() => text('It was easy.'));
  expect(await until(await start(team, {}), 'done')).toMatchObject({ output: 'It was easy.' });

  const told: string[] = [];
  server.script((request) => {
    told.push(request.lastUser);
    return text('Trust me.');
  });
  const failed = await until(await start(team, { proof: [{ line: 'The log', required: true }] }), 'failed');
  expect(failed.card.detail).toContain('It ended without a report. It said: Trust me.');
  expect(told).toHaveLength(3);
  expect(told[1]).toContain('has no proof of: The log');
});

test('a step that the bot gives up, or that breaks, fails with the reason', async () => {
  const { server } = floor;
  const bot = await floor.team('dev', edits);
  const team = bot.split('@')[1] as string;
  server.script(inOrder(tools({ name: 'node_fail', input: { reason: 'There is no such folder.' } }), text('Sorry.')));
  expect((await until(await start(team, {}), 'failed')).card).toMatchObject({
    cause: 'gave_up',
    detail: 'There is no such folder.',
  });
  server.script(() => ({ kind: 'refusal', text: 'No.' }));
  expect((await until(await start(team, {}), 'failed')).card.detail).toContain('declined');
});

test('a checker accepts or rejects by its verbs, and its words alone accept nothing', async () => {
  const { engine, server } = floor;
  engine.team(
    'pair',
    `bots:\n  - { bot: dev, role: maker, binding: hosted, ${edits} }\n  - { bot: eye, role: checker, binding: hosted, model: claude-x }\nedges:\n  - { kind: checks, from: eye, to: dev }\n`,
  );
  await engine.call('POST', '/teams/pair/up', {});
  let verdicts = 0;
  server.script((request) => {
    if (!request.system.includes('eye@pair')) return text('made');
    if (request.toolResults.length > 0) return text('ok');
    verdicts += 1;
    return verdicts < 3 ? text('Looks good to me!') : tools({ name: 'node_done', input: {} });
  });
  const accepted = await until(await start('pair', {}), 'done');
  expect(accepted.proofs).toMatchObject([{ line: 'Checked by eye@pair', outcome: 'proven' }]);
  expect(verdicts).toBe(3);
  server.script((request) => (request.system.includes('eye@pair') ? text('Great!') : text('made')));
  expect((await until(await start('pair', {}), 'failed')).card).toMatchObject({
    cause: 'rejected',
    detail: expect.stringContaining('without a report'),
  });
});

test('a cancelled run ends the turn that works for it, and nothing more is done', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', 'model: claude-x');
  server.script(() => tools({ name: 'file_write', input: { path: 'late.txt', content: 'x' } }));
  const ref = await start(bot.split('@')[1] as string, {});
  await floor.question();
  expect((await engine.call('POST', `/dags/${ref.dagId}/cancel`, {})).status).toBe(200);
  await until(ref, 'cancelled');
  expect(await engine.until(bot, 'idle')).toMatchObject({ stateReason: 'The run was cancelled.' });
  expect(existsSync(join(engine.workspace, 'late.txt'))).toBe(false);
  await vi.waitFor(async () => expect(await engine.approvals.live()).toEqual([]), waits);
  const flow = await engine.call<Flow>('GET', `/dags/${ref.dagId}`);
  expect(flow.body.status).toBe('cancelled');
});

test('the shipped "find, fix, prove" runs to its end with a hosted bot, in a second round', async () => {
  const { engine, server } = floor;
  const bot = await floor
    .team('dev', 'model: claude-x, permissions: ACCEPT_EDITS')
    .then((address) => address.split('@')[1] as string);
  engine.team(bot, `bots:\n  - { bot: dev, role: coder, binding: hosted, ${edits} }\n`);
  await engine.call('POST', `/teams/${bot}/up`, {});
  let rounds = 0;
  server.script((request) => {
    if (request.toolResults.length > 0) return text('I changed answer.txt.');
    rounds += 1;
    return tools({ name: 'file_write', input: { path: 'answer.txt', content: rounds === 1 ? 'wrong\n' : '42\n' } });
  });
  const params = { check: 'grep -q 42 answer.txt' };
  const run = await engine.call<{ dagId: string }>('POST', '/runs', {
    template: 'find-fix-prove',
    projectId: 'p1',
    team: bot,
    params,
  });
  expect(run.status, JSON.stringify(run.body)).toBe(200);
  await vi.waitFor(async () => {
    const flow = await engine.call<Flow>('GET', `/dags/${run.body.dagId}`);
    expect(
      flow.body.status,
      JSON.stringify(flow.body.nodes.map((node) => [node.stepId, node.status, node.detail])),
    ).toBe('done');
  }, waits);
  expect(rounds).toBe(2);
  expect(readFileSync(join(engine.workspace, 'answer.txt'), 'utf8')).toBe('42\n');
});

test('a turn under way when Gantry ends is interrupted: said, shown, not repeated; the next message goes on with it known', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', edits);
  const thread = await floor.thread(bot);
  const ref = await start(bot.split('@')[1] as string, {}).then(async (one) => {
    server.script(() => text('x'));
    return one;
  });
  await until(ref, 'done');
  server.script(inOrder(tools({ name: 'shell_exec', input: { command: 'true' } })));
  await floor.send(bot, 'Run it', { threadId: thread });
  const question = await floor.question();
  const asked = server.requests.length;
  await engine.restart();
  const agent = await engine.agent(bot);
  expect(agent).toMatchObject({ state: 'idle', stateReason: expect.stringContaining('interrupted') });
  expect(server.requests).toHaveLength(asked);
  await vi.waitFor(
    async () => expect((await floor.messages(thread)).at(-1)?.text).toMatch(/nothing was repeated/),
    waits,
  );
  await vi.waitFor(async () => expect((await engine.approvals.get(question.id))?.approval.state).toBe('resolved'), {
    timeout: 5000,
  });
  let body = '';
  server.script((request) => {
    body = JSON.stringify(request.body);
    return text('I will look first.');
  });
  await floor.send(bot, 'Go on', { threadId: thread });
  await engine.until(bot, 'idle');
  expect(body).toContain('Run it');
  expect(body).toContain('Cancelled while waiting for approval. Nothing ran.');
});

test('after a kill in the middle of a call nobody knows whether it was done: the model is told just that', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', edits);
  const { id } = await engine.agent(bot);
  server.script(() => text('first'));
  await floor.send(bot, 'One');
  await engine.until(bot, 'idle');
  // As a kill -9 leaves it: the call is kept, its result is not.
  await engine.store.write((tx) => {
    const turn = {
      id: 'run_killed',
      agentId: id,
      deliveryId: 'delivery_killed',
      threadId: null,
      dagId: null,
      nodeId: null,
    };
    insertTurn(tx, { ...turn, duty: null, status: 'running', reason: null, startedAt: 1, endedAt: null });
    addLine(tx, id, turn.id, 1, { kind: 'user', text: 'Two' });
    const call = { id: 'call_1', name: 'shell.exec', input: { command: 'make' } };
    addLine(tx, id, turn.id, 2, { kind: 'assistant', message: { role: 'assistant', text: '', calls: [call] } });
  });
  await engine.restart();
  expect(await engine.agent(bot)).toMatchObject({ state: 'idle', stateReason: expect.stringContaining('interrupted') });
  let told: unknown;
  server.script((request) => {
    told = request.toolResults;
    return text('I look first.');
  });
  await floor.send(bot, 'Three');
  await engine.until(bot, 'idle');
  expect(told).toEqual([{ callId: 'call_1', text: expect.stringContaining('The call may have run: check before') }]);
});

test('a step under way when Gantry ends waits for a person, who has it tried again', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', 'model: claude-x');
  server.script(() => tools({ name: 'file_write', input: { path: 'again.txt', content: 'x' } }));
  const ref = await start(bot.split('@')[1] as string, {});
  await floor.question();
  await engine.restart();
  expect((await until(ref, 'needs_you')).card.cause).toBe('interrupted');
  expect(existsSync(join(engine.workspace, 'again.txt'))).toBe(false);
  server.script(() => text('done now'));
  expect((await engine.call('POST', `/nodes/${ref.dagId}/${ref.nodeId}/retry`, {})).status).toBe(200);
  await until(ref, 'done');
});

test('a message that no model had taken when Gantry ended is given to it afterwards, once', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', edits);
  let heard = 0;
  let open = () => {};
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  server.script(async () => {
    heard += 1;
    if (heard === 1) await held;
    return text('heard');
  });
  const sending = floor.engine.call('POST', '/send', { to: bot, text: 'unique words' }).catch(() => null);
  await vi.waitFor(() => expect(heard).toBe(1), waits);
  await engine.restart();
  open();
  await sending;
  await vi.waitFor(() => expect(heard).toBe(2), waits);
  await engine.until(bot, 'idle');
  const said = await floor.transcript(bot);
  expect(said.split('unique words')).toHaveLength(2);
});
