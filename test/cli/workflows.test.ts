/** What the verbs of workflows and workspace ask of the engine, and what a person reads. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeCard } from '../../src/contracts/factory/node.ts';
import { run, scratchHome, startEngine } from './support.ts';

const card = (stepId: string, more: Partial<NodeCard> = {}): NodeCard => ({
  dagId: 'dag_1',
  nodeId: `node_${stepId}`,
  stepId,
  title: stepId,
  status: 'done',
  cause: 'proven',
  detail: null,
  assignee: 'shell',
  bindingType: null,
  proof: { proven: 1, total: 1 },
  blockedBy: [],
  needsYou: false,
  depth: 0,
  gate: null,
  attempt: 1,
  ...more,
});
const failed = card('b', {
  status: 'failed',
  cause: 'exit_status',
  detail: 'It ended with status 3.\nbroken\u001b[31m',
});

test('a run is started with its params, and its dry run shows who would do what', async () => {
  const plan = {
    dryRun: true,
    plan: {
      template: 't',
      campaignId: 'project-p',
      nodes: [{ nodeId: 'node_a', stepId: 'a', title: 'Do a', executor: 'coder@dev' }],
      records: ['run.started'],
    },
  };
  const { env, seen } = await startEngine({
    answers: {
      startRun: ({ body }) =>
        (body as { dryRun?: boolean }).dryRun === true
          ? plan
          : { dagId: 'dag_1', campaignId: 'project-p', nodes: [card('a')] },
    },
  });
  const words = [
    'workflows',
    'run',
    't',
    '--project',
    'p',
    '--param',
    'a=1',
    'b=x=y',
    '--team',
    'dev',
    '--intent',
    'go',
  ];
  const dry = await run(env, [...words, '--dry-run']);
  expect(dry.out).toBe(
    'STEP  BY         WHAT\na     coder@dev  Do a\nNothing was started: this is what would happen in project-p.\n',
  );
  const body = { template: 't', intent: 'go', params: { a: '1', b: 'x=y' }, projectId: 'p', team: 'dev' };
  expect(seen.at(-1)).toMatchObject({ op: 'startRun', body: { ...body, dryRun: true } });
  expect((await run(env, words)).out).toContain('npx gantry workflows watch dag_1');
  expect(seen.at(-1)?.body).toEqual(body);
  expect(await run(env, ['workflows', 'run', 't', '--param', 'nothing', '--json'])).toMatchObject({ code: 64 });
});

test.each([
  ['done', 0],
  ['degraded', 0],
  ['failed', 1],
  ['cancelled', 1],
  ['needs_you', 5],
] as const)('watch ends with a run that is %s by exit code %i', async (status, code) => {
  const flow = { dagId: 'dag_1', title: 't', campaignId: 'c', status, nodes: [card('a'), failed], edges: [] };
  const { env } = await startEngine({ answers: { getFlow: () => flow } });
  const watched = await run(env, ['workflows', 'watch', 'dag_1']);
  expect(watched.code).toBe(code);
  expect(watched.out).toContain(
    'b     failed  shell  1/1    1        its command failed (It ended with status 3. broken',
  );
  expect(watched.out).not.toContain('\u001b');
  expect((await run(env, ['workflows', 'watch', 'dag_1', '--json'])).json()).toEqual(flow);
});

test('a proof goes up as a form, byte for byte, over the socket; a file that is not there or too large is said', async () => {
  const { env, seen } = await startEngine({
    answers: {
      uploadProof: ({ query }) =>
        query.dryRun === true
          ? { dryRun: true, plan: { line: 'Looks right', path: 'p', size: 9 } }
          : { path: '.gantry/ledger/proofs/ab/abc', receiptId: '7' },
    },
  });
  const folder = scratchHome().home;
  const file = join(folder, 'shot.png');
  const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 13, 10, 128]);
  writeFileSync(file, bytes);
  const words = ['workspace', 'proof', 'dag_1', 'a', file, '--line', 'Looks right'];
  const sent = await run(env, words);
  expect(sent).toMatchObject({ code: 0, out: '"Looks right" is proven by .gantry/ledger/proofs/ab/abc, receipt 7.\n' });
  const form = seen.at(-1)?.body as Buffer;
  expect(seen.at(-1)?.params).toEqual({ dagId: 'dag_1', nodeId: 'a' });
  expect(form.includes(Buffer.concat([Buffer.from('\r\n\r\n'), bytes, Buffer.from('\r\n--')]))).toBe(true);
  expect(form.toString('latin1')).toMatch(/name="line"\r\n\r\nLooks right\r\n/);
  expect(form.toString('latin1')).toMatch(/filename="shot\.png"\r\nContent-Type: image\/png/i);
  expect((await run(env, [...words, '--dry-run'])).out).toContain('Would prove "Looks right" by p (9 bytes)');

  const before = seen.length;
  const missing = await run(env, ['workspace', 'proof', 'dag_1', 'a', join(folder, 'none'), '--line', 'l', '--json']);
  expect(missing).toMatchObject({ code: 2 });
  expect(await run(env, ['workspace', 'proof', 'dag_1', 'a', file, '--json'])).toMatchObject({ code: 64 });
  truncateSync(file, 25 * 1024 * 1024 + 1);
  const large = await run(env, [...words, '--json']);
  expect(large).toMatchObject({ code: 64 });
  expect(JSON.stringify(large.json())).toContain('26214401 bytes');
  expect(seen.slice(before).filter((one) => one.op === 'uploadProof')).toEqual([]);
});

test.each([
  [['claim'], 'claimNode', {}],
  [['progress', 'half', 'way'], 'progressNode', { text: 'half way' }],
  [['done', '--output', 'o', '--note', 'n'], 'doneNode', { output: 'o', note: 'n' }],
  [['fail', 'too', 'hard'], 'failNode', { reason: 'too hard' }],
  [['retry'], 'retryNode', {}],
  [['skip', '--reason', 'r'], 'skipNode', { reason: 'r' }],
] as const)('workspace %j asks for %s', async ([verb, ...rest], op, body) => {
  const { env, seen } = await startEngine({
    answers: {
      [op]: (call) =>
        (call.body as { dryRun?: boolean }).dryRun === true
          ? {
              dryRun: true,
              plan: { dagId: 'dag_1', nodeId: 'node_a', from: 'failed', to: 'ready', cause: 'retried', records: [] },
            }
          : card('a'),
    },
  });
  const words = ['workspace', verb, 'dag_1', 'a', ...rest];
  expect((await run(env, words)).code).toBe(0);
  expect(seen.at(-1)).toMatchObject({ op, params: { dagId: 'dag_1', nodeId: 'a' }, body });
  expect((await run(env, [...words, '--dry-run'])).out).toBe('node_a would go from failed to ready.\n');
  expect(seen.at(-1)?.body).toEqual({ ...body, dryRun: true });
});

test('a board reads from what needs the person down to the waves', async () => {
  const board = {
    campaign: {
      id: 'c',
      projectId: null,
      title: 'Ship it',
      intent: 'i',
      status: 'active',
      proven: 1,
      total: 2,
      needsYou: 1,
    },
    summary: {
      proven: { k: 1, n: 2 },
      needsYou: [{ dagId: 'dag_1', nodeId: 'node_b', title: 'b' }],
      now: [],
      next: [],
    },
    runs: [{ dagId: 'dag_1', title: 'Run', status: 'needs_you' }],
    waves: [
      { depth: 0, nodes: [card('a')] },
      { depth: 1, nodes: [failed] },
    ],
  };
  const { env } = await startEngine({ answers: { getBoard: () => board } });
  const { out } = await run(env, ['workspace', 'board', 'c']);
  expect(out).toMatch(/^Ship it: 1 of 2 done\nNeeds you: b\nRun dag_1: needs you \(Run\)\n\nWave 1\nSTEP/);
  expect((await run(env, ['workspace', 'board', 'c', '--json'])).json()).toEqual(board);
});

test('a campaign says how many of its steps are done, which not all were proven', async () => {
  const campaign = {
    ...{ id: 'c', projectId: null, title: 'Ship it', intent: 'i', status: 'active' },
    ...{ proven: 1, total: 2, needsYou: 0 },
  };
  const { env } = await startEngine({ answers: { listCampaigns: () => ({ campaigns: [campaign] }) } });
  const { out } = await run(env, ['workspace', 'campaigns']);
  expect(out).toMatch(/^CAMPAIGN +STATUS +DONE +NEEDS YOU +TITLE *\nc +active +1\/2 +- +Ship it/);
});

const template = {
  id: 't',
  name: 'A template',
  description: 'What it is for',
  params: [{ name: 'check', required: true, description: 'the command' }],
  steps: [
    {
      id: 'a',
      title: 'Do a',
      description: '',
      executor: 'shell',
      command: 'true',
      blockedBy: [],
      needsAny: false,
      onFail: 'stop',
      retry: { max: 0, backoffSeconds: 10 },
      waitGate: null,
      proof: [],
    },
  ],
  maxRounds: 3,
  closure: {},
};
const summary = { id: 't', name: 'A template', description: 'What it is for', steps: 1, params: 1, shipped: false };
const problem = { path: 'steps[0].blocked_by', line: 7, message: 'Steps wait for each other in a cycle: a → b → a.' };

test('templates are listed, shown and checked, each problem with its line', async () => {
  const { env } = await startEngine({
    answers: {
      listTemplates: () => ({ templates: [summary], invalid: [{ id: 'bad', problems: [problem] }] }),
      getTemplate: () => template,
      checkTemplate: ({ params }) => ({ id: params.id, ok: false, problems: [problem] }),
    },
  });
  const listed = await run(env, ['workflows', 'templates']);
  expect(listed.out).toMatch(/^TEMPLATE {2}STEPS[^\n]+\nt +1 +1 +What it is for\nbad: 1 problem\n {2}line 7, steps/);
  expect((await run(env, ['workflows', 'show', 't'])).out).toMatch(
    /check +required +the command[\s\S]+a +shell +- +stop +true/,
  );
  expect(await run(env, ['workflows', 'check', 'bad'])).toMatchObject({
    code: 64,
    out: 'bad: 1 problem\n  line 7, steps[0].blocked_by: Steps wait for each other in a cycle: a → b → a.\n',
  });
  expect(await run(env, ['workflows', 'check', '--json'])).toMatchObject({ code: 64 });
});

test('a template is deleted after a dry run that names its schedules, and brought back', async () => {
  const removal = { id: 't', files: ['.gantry/templates/t.json'], shipped: true, schedules: ['Each night'] };
  const { env, seen } = await startEngine({
    answers: {
      removeTemplate: ({ query }) => (query.dryRun === true ? { dryRun: true, plan: removal } : { removed: removal }),
      restoreTemplate: () => ({ id: 't', files: removal.files, applied: true }),
    },
  });
  expect((await run(env, ['workflows', 'delete', 't', '--dry-run'])).out).toBe(
    'Would delete .gantry/templates/t.json.\nThe template of this id that ships with Gantry is used again.\nThese schedules start it: Each night.\n',
  );
  expect((await run(env, ['workflows', 'delete', 't'])).out).toContain('Bring it back: npx gantry workflows restore t');
  expect((await run(env, ['workflows', 'restore', 't'])).out).toBe('Restored .gantry/templates/t.json.\n');
  expect(seen.map(({ op }) => op).filter((op) => op.includes('Template'))).toEqual([
    'removeTemplate',
    'removeTemplate',
    'restoreTemplate',
  ]);
});

test('a run is saved as a template, cancelled, and its gate opened; the dry run asks the same route', async () => {
  const saved = { id: 'mine', name: 'Mine', steps: 2, replaces: true, fromRun: { finished: false } };
  const flow = { dagId: 'dag_1', title: 't', campaignId: 'c', status: 'running', nodes: [card('a')], edges: [] };
  const dry = ({ body }: { body: unknown }) => (body as { dryRun?: boolean }).dryRun === true;
  const { env, seen } = await startEngine({
    answers: {
      saveTemplate: (call) => (dry(call) ? { dryRun: true, plan: saved } : { saved }),
      cancelRun: (call) => (dry(call) ? { dryRun: true, plan: { dagId: 'dag_1', cancels: ['n'], ends: [] } } : flow),
      gateNode: () => card('a'),
    },
  });
  const save = ['workflows', 'save', 'dag_1', '--id', 'mine', '--force'];
  expect((await run(env, save)).out).toBe(
    'Saved the run as template mine (2 steps). It replaces the previous one. Some steps of the run had not finished.\n',
  );
  expect(seen.at(-1)?.body).toEqual({ fromRun: 'dag_1', id: 'mine', force: true });
  expect((await run(env, [...save, '--dry-run'])).out).toMatch(/^Would save/);
  expect((await run(env, ['workflows', 'cancel', 'dag_1', '--dry-run'])).out).toBe(
    'Would cancel 1 step and end 0 steps at work.\n',
  );
  expect((await run(env, ['workflows', 'cancel', 'dag_1'])).out).toContain('The run is being cancelled.');
  await run(env, ['workflows', 'gate', 'dag_1', 'a', '--note', 'go on']);
  expect(seen.at(-1)).toMatchObject({ op: 'gateNode', params: { nodeId: 'a' }, body: { note: 'go on' } });
});

test.each([
  ['needs_you', 5, 'The run needs you. See why: npx gantry why dag_1\n'],
  ['failed', 1, 'The run has failed.\n'],
  ['done', 0, 'The run is done.\n'],
])('a run that rests as %s is watched to its end with %i and a sentence', async (status, code, words) => {
  const flow = { dagId: 'dag_1', title: 't', campaignId: 'c', status, nodes: [card('a')], edges: [] };
  const { env } = await startEngine({ answers: { getFlow: () => flow } });
  const said = await run(env, ['workflows', 'watch', 'dag_1']);
  expect([said.code, said.out.endsWith(words)]).toEqual([code, true]);
});

test('who watches a run that waits at a gate is told where to answer', async () => {
  const gate = { kind: 'manual', description: 'look', state: 'waiting', until: null } as const;
  const nodes = [card('a', { status: 'needs_you', cause: 'gate', needsYou: true, gate })];
  const flow = { dagId: 'dag_1', title: 't', campaignId: 'c', status: 'needs_you', nodes, edges: [] };
  const { env } = await startEngine({ answers: { getFlow: () => flow } });
  expect((await run(env, ['workflows', 'watch', 'dag_1'])).out).toContain(
    'The run needs you. Answer: npx gantry workspace approvals',
  );
});

test('a proof without its line is told which option names it', async () => {
  const { env } = await startEngine({});
  const file = join(scratchHome().home, 'note.md');
  writeFileSync(file, 'x');
  const said = await run(env, ['workspace', 'proof', 'dag_1', 'a', file, '--json']);
  expect(said).toMatchObject({ code: 64 });
  expect(JSON.stringify(said.json())).toContain('--line is missing.');
});

test('a node’s page shows what is to be done, its proofs and its history, and no escape sequence of a bot', async () => {
  const page = {
    card: card('a', { gate: { kind: 'manual', description: 'look', state: 'open', until: null } }),
    spec: '## What to do\n\nMend \u001b[2Jit',
    progressMd: '- half way\n',
    proofMd: '- [x] It holds',
    proofs: [],
    files: [
      {
        receiptId: '7',
        name: 'a.log',
        path: '.gantry/ledger/proofs/ab/abc',
        mime: 'text/plain',
        size: 3,
        sha256: 'abc',
      },
    ],
    deliveries: [],
    approval: null,
    history: [
      {
        at: '2026-01-02T03:00:00.000Z',
        status: 'done',
        cause: 'proven',
        detail: null,
        attempt: 1,
        actor: 'engine',
        receiptId: '9',
      },
    ],
    output: 'fine',
    lease: null,
  };
  const { env } = await startEngine({
    answers: {
      getNode: () => page,
      listNodes: ({ query }) => ({ nodes: query.status === 'all' ? [card('a')] : [] }),
      listCampaigns: () => ({ campaigns: [] }),
    },
  });
  const shown = await run(env, ['workspace', 'node', 'dag_1', 'a']);
  for (const part of [
    'manual, open',
    'Mend',
    '- [x] It holds',
    'a.log, 3 bytes, receipt 7',
    'half way',
    'fine',
    '4 min ago',
  ])
    expect(shown.out).toContain(part);
  expect(shown.out).not.toContain('\u001b');
  expect((await run(env, ['workspace', 'nodes'])).out).toBe('No open steps.\n');
  expect((await run(env, ['workspace', 'nodes', '--all'])).out).toMatch(/dag_1 +a +done +shell/);
  expect((await run(env, ['workspace', 'campaigns'])).out).toContain('No campaigns yet');
});

test('why prints the sentence of the engine, what it leans on and its receipts', async () => {
  const answer = {
    subject: { kind: 'node', id: 'node_b', dagId: 'dag_1', title: 'Prove it' },
    sentence: '“Prove it” waits for “Fix it”, which failed: \u001b[31mits command failed.',
    since: '2026-01-02T03:00:00.000Z',
    because: [{ kind: 'node', id: 'node_a', dagId: 'dag_1', title: 'Fix it' }],
    receipts: ['12', '11'],
  };
  const { env, seen } = await startEngine({ answers: { explainWhy: () => answer } });
  const asked = await run(env, ['why', 'prove', '--run', 'dag_1']);
  expect(seen.at(-1)).toMatchObject({ op: 'explainWhy', params: { id: 'prove' }, query: { run: 'dag_1' } });
  expect(asked.out).toMatch(
    /^“Prove it” waits for “Fix it”, which failed: .*its command failed\.\nFor 4 min, since 2026-01-0\d \d\d:\d\d\.\n/,
  );
  expect(asked.out).toMatch(/Because of:\n {2}node node_a {2}Fix it\nLedger: 12, 11\n$/);
  expect(asked.out).not.toContain('\u001b');
  expect((await run(env, ['why', 'node_b', '--json'])).json()).toEqual(answer);
});
