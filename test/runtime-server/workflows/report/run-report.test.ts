/** A run as one page: what it says, what it leaves out, and that nothing in it can act. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { parse } from 'parse5';
import { expect, test } from 'vitest';
import type { Approval } from '../../../../src/contracts/approvals/approval.ts';
import { nodeCauses } from '../../../../src/contracts/factory/node.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import type { GateApprovals } from '../../../../src/runtime-server/workflows/deps.ts';
import { reportPage } from '../../../../src/runtime-server/workflows/report/report-page.ts';
import { gatherReport, timesOf } from '../../../../src/runtime-server/workflows/report/run-report.ts';
import { bot, openWorld, owner, person, steps, type World, worker, workforceOf } from '../support.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const workforce = workforceOf({ name: 'red', bots: [worker('coder', 'red', { role: 'coder' })], edges: [] });
const coder = bot('coder@red');
const evil = '<script>alert(1)</script><img src=x onerror="alert(2)">\u202e';

interface Element {
  readonly nodeName: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string }[];
  readonly childNodes?: readonly Element[];
}

function elementsOf(html: string): Element[] {
  const all = (element: Element): Element[] => [element, ...(element.childNodes ?? []).flatMap(all)];
  return all(parse(html) as Element);
}

async function prove(world: World, dagId: string, line: string, name: string, type: string, bytes: Buffer) {
  async function* parts() {
    yield { name: 'line', filename: null, type: null, body: Readable.from([Buffer.from(line)]) };
    yield { name: 'file', filename: name, type, body: Readable.from([bytes]) };
  }
  return world.proofs.upload({ dagId, nodeId: 'a' }, coder, parts());
}

type More = Partial<Pick<Parameters<typeof gatherReport>[0], 'approvals' | 'costsOf'>>;
const report = (world: World, dagId: string, more: More = {}) =>
  gatherReport(
    {
      store: world.store,
      workspace: join(world.folder, 'workspace'),
      clock: systemClock,
      approvals: null,
      costsOf: async () => [
        { nodeId: 'node_?', model: 'm', requests: 1, input: 1, output: 1, microUsd: 1, unpriced: 0 },
      ],
      ownerId: owner.actor,
      workforce,
      pages: world.pages,
      ...more,
    },
    dagId,
  );

test('a step without proof lines and requests without a price are said in words', async () => {
  const world = await openWorld({ workforce });
  world.template('t', { steps: [{ id: 'a', title: 'Fix', executor: 'role:coder' }] });
  const { dagId, nodes } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await world.verbs.done({ dagId, nodeId: 'a' }, coder, {});
  const cost = {
    nodeId: nodes[0]?.nodeId ?? '',
    model: 'm',
    requests: 1,
    input: 1,
    output: 1,
    microUsd: 0,
    unpriced: 1,
  };
  const html = reportPage(await report(world, dagId, { costsOf: async () => [cost] }));
  for (const words of ['None required', '1 request without a known price', nodeCauses.reported])
    expect(html).toContain(words);
  expect(html).not.toContain('$0.0000');
});

test('the page has intent, steps, texts and images of proofs, and who accepted what', async () => {
  const world = await openWorld({ workforce });
  world.template('t', {
    name: 'Mend',
    params: [{ name: 'intent' }, { name: 'where', default: 'the roof' }],
    steps: [{ id: 'a', title: 'Fix', executor: 'role:coder', proof: [{ line: 'picture' }, { line: 'log' }] }],
  });
  const { dagId } = await world.run('t', { intent: 'No more rain inside' });
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await prove(world, dagId, 'picture', 'roof.png', 'image/png', png);
  await prove(world, dagId, 'log', 'roof.log', 'text/plain', Buffer.from('42 tiles'));
  await world.verbs.done({ dagId, nodeId: 'a' }, coder, { output: 'It is dry.' });
  await world.verbs.done({ dagId, nodeId: 'a' }, person, { note: 'Looks dry' });
  const gathered = await report(world, dagId);
  expect(gathered).toMatchObject({ status: 'done', intent: 'No more rain inside', template: 'Mend' });
  expect(gathered.decisions).toMatchObject([{ step: 'Fix', what: 'Accepted the proof', by: 'owner' }]);
  const html = reportPage(gathered);
  for (const words of ['No more rain inside', 'the roof', '42 tiles', 'It is dry.', 'Accepted the proof'])
    expect(html).toContain(words);
  expect(html).toContain(`src="data:image/png;base64,${png.toString('base64')}"`);
});

test('whatever bots and templates wrote is text: nothing in the page runs or is loaded, and its own policy says so', async () => {
  const world = await openWorld({ workforce });
  world.template('t', {
    name: evil,
    params: [{ name: 'intent' }],
    steps: [{ id: 'a', title: evil, description: evil, executor: 'role:coder', proof: [{ line: evil }] }],
  });
  const { dagId } = await world.run('t', { intent: evil });
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await prove(world, dagId, evil, 'x.svg', 'image/svg+xml', Buffer.from('<svg onload="alert(3)"/>'));
  await prove(world, dagId, evil, 'x.html', 'text/html', Buffer.from(evil));
  await world.verbs.progress({ dagId, nodeId: 'a' }, coder, evil);
  const html = reportPage(await report(world, dagId));
  const elements = elementsOf(html);
  const names = new Set(elements.map(({ nodeName }) => nodeName));
  for (const name of ['script', 'iframe', 'object', 'embed', 'link', 'svg', 'form', 'a', 'img', 'base'])
    expect(names).not.toContain(name);
  const attributes = elements.flatMap(({ attrs }) => attrs ?? []).map(({ name }) => name);
  expect(attributes.filter((name) => name.startsWith('on'))).toEqual([]);
  expect(html).not.toContain('\u202e');
  expect(html).toContain('default-src &#39;none&#39;');
});

test('a file that was changed since it proved something is only named', async () => {
  const world = await openWorld({ workforce });
  world.template('t', { steps: [{ id: 'a', title: 'Fix', executor: 'role:coder', proof: [{ line: 'log' }] }] });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await prove(world, dagId, 'log', 'a.log', 'text/plain', Buffer.from('first'));
  const proofs = join(world.folder, 'workspace', '.gantry', 'ledger', 'proofs');
  for (const file of readdirSync(proofs, { recursive: true, withFileTypes: true }))
    if (file.isFile()) writeFileSync(join(file.parentPath, file.name), 'other');
  const [step] = (await report(world, dagId)).steps;
  expect(step?.details?.proofs[0]?.file).toMatchObject({ shown: null, why: 'The file was changed since.' });
});

test('a text beyond the limit is cut, and the page says so', async () => {
  const world = await openWorld({ workforce });
  world.template('t', { steps: [{ id: 'a', title: 'Fix', executor: 'role:coder', proof: [{ line: 'log' }] }] });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await prove(world, dagId, 'log', 'a.log', 'text/plain', Buffer.alloc(3_000_000, 'x'));
  const html = reportPage(await report(world, dagId));
  expect(html).toContain('The text is cut off here.');
  expect(html.length).toBeLessThan(60_000);
});

test('an approval is told once, with who answered, where and when', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { wait_gate: { kind: 'manual', description: 'Look first' } } }));
  const { dagId, nodes } = await world.run('t');
  await world.until(dagId, (flow) => flow.status === 'needs_you');
  await world.verbs.gate({ dagId, nodeId: 'a' }, person, null);
  await world.settled(dagId);
  expect((await report(world, dagId)).decisions).toMatchObject([{ what: 'Opened the gate', by: 'owner' }]);
  const approval = {
    title: 'Look first',
    nodeId: nodes[0]?.nodeId,
    decision: 'approve',
    resolvedAt: '2026-11-24T10:00:00.000Z',
    resolvedBy: { user: 'user_local', surface: 'push' },
    note: 'Fine',
  } as Approval;
  const approvals = { ofRun: async () => [approval] } as unknown as GateApprovals;
  expect((await report(world, dagId, { approvals })).decisions).toEqual([
    { at: approval.resolvedAt, step: 'a', what: 'Approved: Look first', by: 'owner', surface: 'push', note: 'Fine' },
  ]);
});

test('time counts while a step is worked on or checked, not while it waits for a person', () => {
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  const moves = [
    { at: at(0), status: 'ready' },
    { at: at(1), status: 'working' },
    { at: at(4), status: 'needs_you' },
    { at: at(30), status: 'working' },
    { at: at(31), status: 'checking' },
    { at: at(33), status: 'done' },
  ] as const;
  expect(timesOf(moves, Date.parse(at(60)))).toEqual({ workedMs: 6 * 60_000, startedAt: at(1), endedAt: at(33) });
  expect(timesOf(moves.slice(0, 2), Date.parse(at(3)))).toMatchObject({ workedMs: 2 * 60_000, endedAt: null });
  expect(timesOf([], 0)).toEqual({ workedMs: null, startedAt: null, endedAt: null });
});
