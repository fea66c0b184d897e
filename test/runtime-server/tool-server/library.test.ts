/** What clients read beside calling: templates as prompts; boards, runs and files as resources. On a whole engine, over MCP. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharedEngine, waitFor } from '../engine.ts';
import { startShells } from '../shells.ts';
import { rpc } from './wire.ts';

const shared = sharedEngine();

interface Contents {
  readonly contents: readonly { uri: string; mimeType: string; text?: string; blob?: string }[];
}
const read = async (uri: string, options: { token?: string } = {}) => {
  const { result, error } = await rpc(shared.current, 'resources/read', { uri }, options);
  return { error, content: (result as unknown as Contents | undefined)?.contents[0] };
};

test('templates are prompts: their params are arguments, and what they ask stands in the words', async () => {
  const engine = shared.current;
  const template = {
    id: 'greet',
    name: 'Greet somebody',
    description: 'Greets {{ params.who }}.',
    params: [
      { name: 'who', required: true, description: 'Whom' },
      { name: 'how', default: 'kindly' },
    ],
    steps: [
      { id: 'say', title: 'Say it {{ params.how }}', executor: 'shell', command: 'echo hi' },
      {
        id: 'end',
        description: 'After {{ step.say.output }}, for {{ intent }}',
        executor: 'shell',
        command: 'true',
        blocked_by: ['say'],
      },
    ],
  };
  engine.write('.gantry/templates/greet.json', JSON.stringify(template));
  await engine.agree();
  const listed = (await rpc(engine, 'prompts/list')).result as unknown as { prompts: { name: string }[] };
  const names = listed.prompts.map(({ name }) => name);
  expect(names).toEqual(names.toSorted());
  expect(listed.prompts.find(({ name }) => name === 'greet')).toMatchObject({
    title: 'Greet somebody',
    arguments: [
      { name: 'intent', required: false },
      { name: 'who', description: 'Whom', required: true },
      { name: 'how', required: false },
    ],
  });
  const get = (args: object) => rpc(engine, 'prompts/get', { name: 'greet', arguments: args });
  const { messages } = (await get({ who: 'Ann', intent: 'a birthday' })).result as unknown as {
    messages: { role: string; content: { text: string } }[];
  };
  expect(messages).toHaveLength(1);
  expect(messages[0]?.content.text).toBe(
    '# Greet somebody\n\nGreets Ann.\n\nWhat it is for: a birthday\n\n' +
      '## 1. Say it kindly (say)\nBy shell\nCommand: echo hi\n\n' +
      '## 2. end (end)\nBy shell, after say\nAfter (output of the step say), for a birthday\nCommand: true',
  );
  expect((await get({})).error).toMatchObject({ code: -32602 });
  expect((await get({ who: 'Ann', whom: 'Bob' })).error).toMatchObject({ code: -32602 });
});

test('boards and runs are listed and read, and a run says what its steps gave', async () => {
  const engine = shared.current;
  const template = { id: 'count', steps: [{ id: 'one', executor: 'shell', command: 'echo forty-two' }] };
  engine.write('.gantry/templates/count.json', JSON.stringify(template));
  await engine.agree();
  const started = await engine.call<{ dagId: string; campaignId: string }>('POST', '/runs', {
    template: 'count',
    projectId: 'count',
  });
  expect(started.status, JSON.stringify(started.body)).toBeLessThan(300);
  const { dagId, campaignId } = started.body;
  const content = await waitFor(
    async () => (await read(`gantry://runs/${dagId}`)).content,
    (found) => found?.text?.includes('forty-two') === true,
  );
  expect(JSON.parse(content?.text ?? '')).toMatchObject({ dagId, results: [{ stepId: 'one', status: 'done' }] });
  const listed = (await rpc(engine, 'resources/list')).result as unknown as { resources: { uri: string }[] };
  const uris = listed.resources.map(({ uri }) => uri);
  expect(uris).toEqual(uris.toSorted());
  expect(uris).toEqual(expect.arrayContaining([`gantry://boards/${campaignId}`, `gantry://runs/${dagId}`]));
  const board = JSON.parse((await read(`gantry://boards/${campaignId}`)).content?.text ?? '');
  expect(board).toMatchObject({ campaign: { id: campaignId }, summary: { proven: { k: 1, n: 1 } } });
});

test('files of the working folder are read by their template: text as text, the rest as bytes', async () => {
  const engine = shared.current;
  engine.write('docs/Ä b.md', '# Hallo\n');
  writeFileSync(join(engine.workspace, 'raw.png'), Buffer.from([0x89, 0x50, 0xff, 0xfe]));
  expect((await read(`file:///docs/${encodeURIComponent('Ä b.md')}`)).content).toMatchObject({
    mimeType: 'text/markdown',
    text: '# Hallo\n',
  });
  expect((await read(`file://${engine.workspace}/docs/Ä b.md`)).content?.text).toBe('# Hallo\n');
  expect((await read('file:///raw.png')).content).toMatchObject({ mimeType: 'image/png', blob: 'iVD//g==' });
  const listed = (await rpc(engine, 'resources/templates/list')).result as unknown as {
    resourceTemplates: { uriTemplate: string }[];
  };
  expect(listed.resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
    'file:///{+path}',
    'gantry://boards/{campaignId}',
    'gantry://runs/{runId}',
  ]);
  const long = 'line of a long file\n'.repeat(20_000);
  engine.write('long.txt', long);
  expect((await read('file:///long.txt')).content?.text).toBe(long);
});

test('what lies outside, is not there or is denied by a rule is not read', async () => {
  const engine = shared.current;
  symlinkSync(engine.home, join(engine.workspace, 'out'));
  const outside = [
    'file:///../home/runtime.db',
    'file:///etc/passwd',
    'file:///out/runtime.db',
    'file:///%2e%2e/home/run/url',
  ];
  for (const uri of [
    ...outside,
    'file:///nothing.txt',
    'file:///%E0%A4%A',
    'file:///',
    'gantry://boards/none',
    'http://x/',
    '',
  ]) {
    expect([uri, (await read(uri)).error?.code]).toEqual([uri, -32602]);
  }
  engine.write('secret/plan.txt', 'hidden');
  engine.write('.gantry/policy.yaml', 'rules:\n  - when: {path: "secret/**"}\n    then: deny\n    reason: not yours\n');
  const denied = await read('file:///secret/plan.txt');
  expect(denied.content).toBeUndefined();
  expect(denied.error?.message).toContain('not yours');
  engine.write('.gantry/policy.yaml', 'rules: []\n');
});

test('a bot reads in its own folder, and runs of other bots are not there for it', async () => {
  const engine = shared.current;
  const token = await engine.botToken(`worker@${await startShells(engine, 'worker')}`);
  await engine.store.write((tx) => {
    tx.run(
      `INSERT INTO engine_agent_run (id, workspace, bot_id, source_kind, source_ref, status, started_at, output)
       VALUES ('run_other', ?, 'agent_other', 'message', 'x', 'completed', 1, 'secret words')`,
      engine.workspace,
    );
  });
  expect((await read('gantry://runs/run_other', { token })).error?.code).toBe(-32602);
  expect(JSON.stringify((await rpc(engine, 'resources/list', {}, { token })).result)).not.toContain('run_other');
  expect((await read('gantry://runs/run_other')).content?.text).toContain('secret words');
});
