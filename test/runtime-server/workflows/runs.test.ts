import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { openWorld, owner, steps, worker, workforceOf } from './support.ts';

const problem = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error(`no refusal: ${String(error)}`);
  return { code: error.code, status: error.status, fact: error.fact, action: error.action };
};

const coder = (team: string, slug = 'coder') => worker(slug, team, { role: 'coder' });
const team = (name: string, ...bots: ReturnType<typeof worker>[]) => ({ name, bots, edges: [] });

test('a run needs a campaign or a project, and a campaign that there is', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: {} }));
  expect(await problem(world.run('t', { projectId: undefined }))).toMatchObject({ code: 'usage' });
  expect(await problem(world.run('t', { campaignId: 'campaign_x' }))).toMatchObject({ code: 'not_found' });
  expect(await problem(world.run('nothing'))).toMatchObject({ code: 'not_found' });
  const campaign = await world.runs.createCampaign({ title: 'C', intent: 'i' }, owner);
  const both = await world.run('t', { campaignId: campaign.id, projectId: 'p' });
  expect(both.campaignId).toBe(campaign.id);
});

test('a project gets its campaign with the first run and keeps it', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: {} }));
  await world.runs.putProject({ id: 'shop', name: 'The shop', workerBot: 'bot:anna' }, owner);
  const first = await world.run('t', { projectId: 'shop', intent: 'Sell more' });
  expect(first.campaignId).toBe('project-shop');
  const second = await world.run('t', { projectId: 'shop' });
  expect(second.campaignId).toBe('project-shop');
  await world.run('t', { projectId: 'nobody-made-it' });
  const rows = await world.store.read((tx) =>
    tx.all('SELECT id, project_id, intent, owner, executor FROM factory_campaign ORDER BY id'),
  );
  expect(rows).toEqual([
    {
      id: 'project-nobody-made-it',
      project_id: 'nobody-made-it',
      intent: 'Project nobody-made-it',
      owner: 'user_local',
      executor: 'bot:project-worker-nobody-made-it',
    },
    { id: 'project-shop', project_id: 'shop', intent: 'Sell more', owner: 'user_local', executor: 'bot:anna' },
  ]);
  await world.settled(first.dagId);
  await world.settled(second.dagId);
  const board = await world.pages.board('project-shop');
  expect(board.campaign).toMatchObject({ title: 'The shop', proven: 2, total: 2, status: 'finished' });
  expect(board.waves).toHaveLength(1);
});

test('params are checked before anything is written: missing, unknown, default, and the one named intent', async () => {
  const world = await openWorld();
  world.template('t', {
    params: [{ name: 'must', required: true }, { name: 'may', default: 'd' }, { name: 'intent' }],
    ...steps({ a: { command: 'echo {{ params.must }} {{ params.may }} {{ params.intent }} {{ intent }}' } }),
  });
  expect(await problem(world.run('t', { params: { wrong: 'x' } }))).toEqual({
    code: 'usage',
    status: 400,
    fact: 'Template "t": there is no param "wrong"; the param "must" is missing.',
    action: 'It has: must, may, intent.',
  });
  expect(await world.store.read((tx) => tx.all('SELECT 1 FROM factory_campaign'))).toEqual([]);
  const { dagId } = await world.run('t', { params: { must: 'm' }, intent: 'why' });
  await world.settled(dagId);
  const page = await world.pages.node(dagId, 'a');
  expect(page.output).toBe('m d why why');
  expect(page.spec).toContain('## Intent\n\nwhy');
});

test('steps by role take the only team; none or several is usage, and the fact names them', async () => {
  const byRole = { steps: [{ id: 'a', title: 'A', executor: 'role:coder' }] };
  const none = await openWorld();
  none.template('t', byRole);
  expect(await problem(none.run('t'))).toMatchObject({
    code: 'usage',
    fact: 'Steps are assigned by role:coder, and the workspace has no team.',
  });
  const several = await openWorld({ workforce: workforceOf(team('red', coder('red')), team('blue', coder('blue'))) });
  several.template('t', byRole);
  expect(await problem(several.run('t'))).toMatchObject({
    code: 'usage',
    fact: 'Steps are assigned by role:coder, and the workspace has several teams: red, blue.',
  });
  expect((await several.run('t', { team: 'blue' })).nodes[0]).toMatchObject({
    assignee: 'coder@blue',
    bindingType: 'terminal',
  });
  expect(await problem(several.run('t', { team: 'green' }))).toMatchObject({ code: 'not_found' });
  const one = await openWorld({ workforce: workforceOf(team('red', coder('red'))) });
  one.template('t', byRole);
  expect((await one.run('t')).nodes[0]?.assignee).toBe('coder@red');
});

test('bots are found by name, harness and address, and who cannot be found is named with what there is', async () => {
  const bots = [worker('anna', 'red', { role: 'coder' }), worker('bert', 'red', { harness: 'claude' })];
  const world = await openWorld({ workforce: workforceOf(team('red', ...bots), team('blue', worker('anna', 'blue'))) });
  const executors = { a: 'bot:bert', b: 'bot:anna@blue', c: 'harness:claude', d: 'bot:anna' };
  world.template('t', { steps: Object.entries(executors).map(([id, executor]) => ({ id, title: id, executor })) });
  expect((await world.run('t', { team: 'red' })).nodes.map((node) => node.assignee)).toEqual([
    'bert@red',
    'anna@blue',
    'bert@red',
    'anna@red',
  ]);
  world.template('u', { steps: [{ id: 'a', title: 'a', executor: 'bot:anna' }] });
  expect((await problem(world.run('u'))).fact).toBe(
    'Nobody can carry out step "a": several bots are called "anna": anna@red, anna@blue.',
  );
  world.template('v', {
    steps: [
      { id: 'a', title: 'a', executor: 'role:judge' },
      { id: 'b', title: 'b', executor: 'bot:carl' },
    ],
  });
  expect((await problem(world.run('v', { team: 'red' }))).fact).toBe(
    'Nobody can carry out step "a": team red has no role "judge" (it has: coder); step "b": no bot is called "carl" in team red.',
  );
});

test('a role with several bots is given to the least loaded, and the ledger says among whom', async () => {
  const workforce = workforceOf(team('red', coder('red', 'a'), coder('red', 'b')));
  const world = await openWorld({ workforce });
  world.template('three', { steps: ['x', 'y', 'z'].map((id) => ({ id, title: id, executor: 'role:coder' })) });
  expect((await world.run('three')).nodes.map((node) => node.assignee)).toEqual(['a@red', 'b@red', 'a@red']);
  world.template('one', { steps: [{ id: 'x', title: 'x', executor: 'role:coder' }] });
  expect((await world.run('one')).nodes[0]?.assignee).toBe('b@red');
  const rows = await world.ledger.read('0', 100, ['run.started']);
  expect(((rows[1]?.body.nodes ?? []) as unknown[])[0]).toMatchObject({
    assignee: 'b@red',
    among: [
      { address: 'a@red', open: 2 },
      { address: 'b@red', open: 1 },
    ],
  });
});

test('a dry run shows every resolved executor and writes nothing', async () => {
  const world = await openWorld({ workforce: workforceOf(team('red', coder('red'))) });
  world.template('t', {
    steps: [
      { id: 'a', title: 'First {{ intent }}', executor: 'role:coder' },
      { id: 'b', command: 'true', blocked_by: ['a'] },
    ],
  });
  const head = await world.ledger.head();
  const answer = await world.runs.start({ template: 't', projectId: 'p', intent: 'go', dryRun: true }, owner);
  expect(answer).toEqual({
    dryRun: true,
    plan: {
      template: 't',
      campaignId: 'project-p',
      nodes: [
        { nodeId: expect.stringMatching(/^node_/), stepId: 'a', title: 'First go', executor: 'coder@red' },
        { nodeId: expect.stringMatching(/^node_/), stepId: 'b', title: 'b', executor: 'shell' },
      ],
      records: ['campaign.created', 'run.started', 'node.status'],
    },
  });
  expect(await world.ledger.head()).toBe(head);
  expect(
    await world.store.read((tx) => tx.all('SELECT 1 FROM factory_run UNION SELECT 1 FROM factory_campaign')),
  ).toEqual([]);
  expect(world.sent).toEqual([]);
});

const saver = { ...owner, inPerson: true };

test('a run is saved as a template: by title, refused over an existing one, replaced by force, told when unfinished', async () => {
  const world = await openWorld();
  world.template('t', {
    params: [{ name: 'p', default: '1' }],
    ...steps({ a: { command: 'echo {{ params.p }}' }, b: { wait_gate: { kind: 'manual' }, blocked_by: ['a'] } }),
  });
  const { dagId } = await world.run('t', { intent: 'Ship the Größe!\nmore' });
  await world.settled(dagId);
  const folder = join(world.folder, 'workspace', '.gantry', 'templates');
  const expected = {
    id: 'ship-the-gro-e',
    name: 'Ship the Größe!',
    steps: 2,
    replaces: false,
    fromRun: { finished: false },
  };
  expect(await world.runs.save({ fromRun: dagId, dryRun: true }, saver)).toEqual({ dryRun: true, plan: expected });
  expect(readdirSync(folder)).toEqual(['t.json']);
  expect(await world.runs.save({ fromRun: dagId }, saver)).toEqual({ saved: expected });
  expect(world.templates.use('ship-the-gro-e').steps[0]?.command).toBe('echo {{ params.p }}');
  expect(await problem(world.runs.save({ fromRun: dagId }, saver))).toMatchObject({ code: 'refused', status: 403 });
  writeFileSync(join(folder, 'note.md'), '```json\n{"steps":[{"id":"a","command":"true"}]}\n```\n');
  expect(await problem(world.runs.save({ fromRun: dagId, id: 'note' }, saver))).toMatchObject({ status: 403 });
  expect(await world.runs.save({ fromRun: dagId, id: 'note', force: true }, saver)).toMatchObject({
    saved: { id: 'note', replaces: true },
  });
  expect(existsSync(join(folder, 'note.md'))).toBe(false);
  expect(JSON.parse(readFileSync(join(folder, 'note.json'), 'utf8'))).toMatchObject({
    id: 'note',
    steps: [{ id: 'a' }, { blocked_by: ['a'] }],
  });
  expect(await problem(world.runs.save({ fromRun: 'dag_none' }, saver))).toMatchObject({ code: 'not_found' });
});

test('a template with problems cannot be run, is listed with them, and the workspace hides what ships', async () => {
  const world = await openWorld();
  world.template('bad', { steps: [{ id: 'a', command: 'echo {{ nope }}' }] });
  expect(await problem(world.run('bad'))).toMatchObject({
    code: 'usage',
    fact: 'The template "bad" has problems: line 1: {{ nope }} refers to nothing.',
  });
  writeFileSync(join(world.folder, 'shipped', 'bad.json'), '{"steps":[{"id":"s","command":"true"}]}');
  writeFileSync(
    join(world.folder, 'shipped', 'good.md'),
    '# Good\n\nShips.\n\n```json\n{"steps":[{"id":"s","command":"true"}]}\n```\n',
  );
  expect(world.templates.list().map(({ id, read }) => [id, read.ok])).toEqual([
    ['bad', false],
    ['good', true],
  ]);
  expect(world.templates.find('../workspace')).toBeNull();
});
