/**
 * Tasks and questions of attached servers, in both revisions that have tasks: seen as tasks of ours, followed over restarts, and answered by the person.
 * A real tool server, database and approvals; the attached server is the one of the protocol's own suite.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { iso, systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { localUserId } from '../../../../src/kit/http/principals.ts';
import { onEnd } from '../../../support/at-end.ts';
import { createProfile } from '../../../support/mcp/profile.ts';
import { serveMcp } from '../../../support/mcp/serve-profile.ts';
import { openTaskServer } from '../../../support/mcp/task-server.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { startVictim } from '../../../support/victim.ts';
import { askAt, declared, opted, type Spoken } from '../task-desk.ts';

interface Shown {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly [key: string]: unknown;
}
const program = fileURLToPath(new URL('../../../support/victims/task-server.ts', import.meta.url));
const soon = { timeout: 15_000, interval: 20 };

type Refuse = (body: string) => { readonly status: number; readonly text: string } | null;

/** A server that does not know 2026-07-28. */
const legacyOnly: Refuse = (body) => (body.includes('"server/discover"') ? { status: 400, text: 'Bad Request' } : null);

/** The server behind a proxy that refuses some requests itself. */
async function behind(url: string, refuse: Refuse): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const refused = refuse(body);
    if (refused !== null) {
      return void response.writeHead(refused.status, { 'content-type': 'application/json' }).end(refused.text);
    }
    const version = request.headers['mcp-protocol-version'];
    const headers = {
      'content-type': 'application/json',
      ...(version === undefined ? {} : { 'mcp-protocol-version': String(version) }),
    };
    // The server ends before its proxy does.
    const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => null);
    if (answer === null) return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function open({
  legacy = false,
  refuse = legacy ? legacyOnly : undefined,
}: {
  legacy?: boolean;
  refuse?: Refuse;
} = {}) {
  const profile = await serveMcp(createProfile());
  onEnd(() => profile.close());
  const root = scratchFolder();
  const start = () => openTaskServer({ root, clock: systemClock, timers: systemTimers });
  let now = await start();
  onEnd(() => now.close());
  await now.start();
  const url = refuse === undefined ? profile.url : await behind(profile.url, refuse);
  const { id } = await now.attached.attach({ name: 'web', transport: { type: 'http', url } });
  const connected = () => expect.poll(() => now.attached.one(id).status, soon).toBe('connected');
  await connected();

  const ask = (method: string, params: object, spoken: Spoken = declared) => askAt(now.url, method, params, spoken);
  const call = (name: string, args: object = {}, spoken: Spoken = declared) =>
    ask('tools/call', { name: `web.${name}`, arguments: args }, spoken);
  const get = async (taskId: string) => (await ask('tasks/get', { taskId })).result as Shown;
  return {
    profile,
    ask,
    call,
    get,
    make: async (name: string, args: object = {}) => (await call(name, args)).result as Shown,
    ended: async (taskId: string) => {
      await expect.poll(async () => (await get(taskId)).status, soon).not.toBe('working');
      return get(taskId);
    },
    question: async () => {
      await expect.poll(() => now.approvals.live(), soon).toHaveLength(1);
      return (await now.approvals.live())[0]!;
    },
    live: () => now.approvals.live(),
    answer: (approvalId: string, decision: 'approve' | 'reject', note: string | null = null) =>
      now.approvals.answer({
        id: approvalId,
        decision,
        note,
        resolvedBy: { user: localUserId, surface: 'browser' },
        at: iso(systemClock.now()),
      }),
    rename: (name: string) => now.attached.change(id, { name }),
    move: (to: string) => now.attached.change(id, { transport: { type: 'http', url: to } }),
    /** `movedTo`: its address was changed just before the end, and nothing was asked of it since. */
    async restart({ movedTo }: { readonly movedTo?: string } = {}) {
      await now.close();
      if (movedTo !== undefined) {
        const database = new Database(join(root, 'db', 'runtime.db'));
        database.prepare('UPDATE attached_server SET transport = replace(transport, ?, ?)').run(url, movedTo);
        database.close();
      }
      now = await start();
      await now.start();
      await connected();
    },
    /** What the attached server itself keeps. */
    theirs: async () => (await askAt(profile.url, 'tasks/list', {}, opted)).result?.tasks as Shown[],
  };
}

test.each([{ legacy: false }, { legacy: true }])(
  'a task of an attached server is a task of ours, under an id of ours (legacy: $legacy)',
  async ({ legacy }) => {
    const { make, ended, ask, theirs } = await open({ legacy });
    const made = await make('slow_compute', { seconds: 0.3, label: 'far' });
    expect(made).toMatchObject({ resultType: 'task', status: 'working' });
    expect(await theirs()).toHaveLength(1);
    expect(made.taskId).not.toBe((await theirs())[0]?.taskId);
    const unknown = await ask('tasks/get', { taskId: made.taskId }, { ...declared, token: 'other' });
    expect(unknown.error).toMatchObject({ code: -32602 });
    expect(await ended(made.taskId)).toMatchObject({
      status: 'completed',
      result: { isError: false, content: [{ text: 'Computed far.' }] },
    });
  },
);

test('a client that takes no tasks gets the result of a call as before, and the server makes no task', async () => {
  const { call, theirs } = await open();
  const { result } = await call('slow_compute', { seconds: 0, label: 'near' }, {});
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Computed near.' }] });
  expect(await theirs()).toEqual([]);
});

test('an error of a task’s protocol is an error in its result, with the server’s words', async () => {
  const { make, ended } = await open();
  const { taskId } = await make('protocol_error_job');
  const { result } = await ended(taskId);
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toContain('did not finish web.protocol_error_job: Something broke.');
});

test.each([{ legacy: false }, { legacy: true }])(
  'a task goes on at its server while Gantry is away, and is called only once (legacy: $legacy)',
  async ({ legacy }) => {
    const { make, ended, restart, theirs } = await open({ legacy });
    const { taskId } = await make('slow_compute', { seconds: 1, label: 'meanwhile' });
    await restart();
    expect(await ended(taskId)).toMatchObject({ result: { content: [{ text: 'Computed meanwhile.' }] } });
    expect(await theirs()).toHaveLength(1);
  },
);

test('a task outlives errors of a moment at its server', async () => {
  const errors = [
    { status: 503, text: { code: -32000, message: 'busy' } },
    { status: 429, text: { code: -32000, message: 'too many' } },
    { status: 200, text: { code: -32603, message: 'Internal error' } },
  ];
  let asked = 0;
  const refuse: Refuse = (body) => {
    const { method, id } = JSON.parse(body) as { method?: string; id?: number };
    const error = method === 'tasks/get' ? errors[asked++] : undefined;
    if (error === undefined) return null;
    return { status: error.status, text: JSON.stringify({ jsonrpc: '2.0', id, error: error.text }) };
  };
  const { make, ended } = await open({ refuse });
  const { taskId } = await make('slow_compute', { seconds: 0.3, label: 'patient' });
  expect(await ended(taskId)).toMatchObject({ result: { content: [{ text: 'Computed patient.' }] } });
  expect(asked).toBeGreaterThan(errors.length);
});

test('a task goes on when its server has another name after a restart', async () => {
  const { make, ended, rename, restart } = await open();
  const { taskId } = await make('slow_compute', { seconds: 1, label: 'renamed' });
  await rename('papers');
  await restart();
  expect(await ended(taskId)).toMatchObject({ result: { content: [{ text: 'Computed renamed.' }] } });
});

test('a task and the answers for it stay with the program that began it: another at its place gets neither', async () => {
  const { profile, make, ended, question, answer, move, live } = await open();
  const heard: string[] = [];
  const other = await behind(profile.url, (body) => {
    heard.push((JSON.parse(body) as { method: string }).method);
    return null;
  });
  const { taskId } = await make('confirm_delete', { filename: 'a.txt' });
  const { id } = await question();
  await move(other);
  await answer(id, 'approve', 'yes');
  const text = expect.stringContaining('is another one now, and what the earlier one did is not known');
  expect(await ended(taskId)).toMatchObject({ result: { isError: true, content: [{ text }] } });
  expect(heard.filter((method) => method.startsWith('tasks/'))).toEqual([]);
  expect(await live()).toEqual([]);
});

test('another program at the place of the one that began a task gets nothing of it after a restart either', async () => {
  const { profile, make, ended, restart } = await open();
  const heard: string[] = [];
  const other = await behind(profile.url, (body) => {
    heard.push((JSON.parse(body) as { method: string }).method);
    return null;
  });
  const { taskId } = await make('slow_compute', { seconds: 60 });
  await restart({ movedTo: other });
  const text = expect.stringContaining('is another one now, and what the earlier one did is not known');
  expect(await ended(taskId)).toMatchObject({ result: { isError: true, content: [{ text }] } });
  expect(heard.filter((method) => method.startsWith('tasks/'))).toEqual([]);
});

test('the answer to what a server asked before a call stays with it too: the call is refused in words, and not made at another', async () => {
  const { profile, call, question, answer, move, live } = await open();
  const heard: string[] = [];
  const other = await behind(profile.url, (body) => {
    heard.push((JSON.parse(body) as { method: string }).method);
    return null;
  });
  const called = call('test_input_required_result_elicitation', {}, {});
  const { id } = await question();
  await move(other);
  await answer(id, 'approve', 'Ada');
  const { result } = await called;
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).toContain('is another one now');
  expect(JSON.stringify(result)).toContain('Nothing ran.');
  expect(heard).not.toContain('tools/call');
  expect(await live()).toEqual([]);
});

test('cancelling a task cancels the one at the server', async () => {
  const { make, get, ask, theirs } = await open();
  const { taskId } = await make('slow_compute', { seconds: 60 });
  await ask('tasks/cancel', { taskId });
  expect(await get(taskId)).toMatchObject({ status: 'cancelled' });
  await expect.poll(theirs, soon).toMatchObject([{ status: 'cancelled' }]);
});

test('what a task asks is answered by the person, also over a restart, and withdrawn with the task', async () => {
  const { make, ended, question, answer, restart, ask, live } = await open();
  const { taskId } = await make('confirm_delete', { filename: 'a.txt' });
  const { id, kind, title, summary } = await question();
  expect([kind, title]).toEqual(['input', 'web asks: Delete it?']);
  expect(summary).toContain('confirm: yes or no');
  await restart();
  expect((await question()).id).toBe(id);
  await answer(id, 'approve', 'yes');
  expect(await ended(taskId)).toMatchObject({ result: { content: [{ text: 'Deleted a.txt.' }] } });

  const other = await make('confirm_delete', { filename: 'b.txt' });
  await question();
  await ask('tasks/cancel', { taskId: other.taskId });
  await expect.poll(live, soon).toEqual([]);
});

test('a call that the server answers with a question waits for the person, and goes on with their words', async () => {
  const { call, question, answer } = await open();
  const called = call('test_input_required_result_elicitation', {}, {});
  await answer((await question()).id, 'approve', 'Ada');
  const { result } = await called;
  expect(result).toMatchObject({ isError: false });
  expect(JSON.stringify(result)).toContain(
    String.raw`{\"user_name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}`,
  );
});

test('for a client that takes tasks such a call becomes one, which begins again after a restart and asks the same', async () => {
  const { make, question, answer, restart, ended } = await open();
  const { taskId, statusMessage } = await make('test_input_required_result_elicitation');
  const { id } = await question();
  expect(statusMessage).toContain(id);
  await restart();
  expect((await question()).id).toBe(id);
  await answer(id, 'approve', 'Ada');
  expect(JSON.stringify(await ended(taskId))).toContain('Ada');
});

test('an answer that the server would not take is asked for again, and a no is passed on as one', async () => {
  const { make, question, answer, ended, live } = await open();
  const { taskId } = await make('test_input_required_result_request_state');
  const first = (await question()).id;
  await answer(first, 'approve', 'perhaps');
  await expect.poll(async () => (await live()).map(({ id }) => id), soon).not.toContain(first);
  const second = await question();
  expect(second.summary).toContain('Your last answer was not taken: ok: "perhaps" is neither yes nor no.');
  await answer(second.id, 'reject');
  expect(JSON.stringify(await ended(taskId))).toContain('decline');
});

test('kill −9 while a task runs at its server, or while that asks, loses neither the task nor the question', async () => {
  const profile = await serveMcp(createProfile());
  onEnd(() => profile.close());
  const root = scratchFolder();
  const start = async () => {
    const victim = startVictim({ command: [process.execPath, program, root, profile.url] });
    onEnd(async () => void (await victim.kill('SIGKILL')));
    const [, url = ''] = (await victim.until((line) => line.startsWith('ready '))).split(' ');
    const listed = async () => JSON.stringify((await askAt(url, 'tools/list', {})).result);
    await expect.poll(listed, soon).toContain('web.slow_compute');
    return { ...victim, url };
  };
  let server = await start();
  const get = async (taskId: string) => (await askAt(server.url, 'tasks/get', { taskId }, declared)).result as Shown;
  const live = async (summary: string) => {
    server.child.stdin?.write('live\n');
    const line = await server.until((each) => each.startsWith('live ') && each.includes(summary));
    return (JSON.parse(line.slice('live '.length)) as { id: string; summary: string }[]).find((each) =>
      each.summary.includes(summary),
    )!;
  };
  const approve = (id: string, note: string | null = null) => {
    const resolvedBy = { user: localUserId, surface: 'browser' };
    const answer = { id, decision: 'approve', note, resolvedBy, at: iso(systemClock.now()) };
    server.child.stdin?.write(`answer ${JSON.stringify(answer)}\n`);
  };
  const make = async (name: string, args: object) => {
    const params = { name: `web.${name}`, arguments: args };
    const { taskId } = (await askAt(server.url, 'tools/call', params, declared)).result as Shown;
    approve((await live(`web.${name}`)).id);
    return taskId;
  };

  const runs = await make('slow_compute', { seconds: 3, label: 'meanwhile' });
  await expect.poll(async () => (await get(runs)).statusMessage, soon).toBe('Running at the attached server.');
  const asks = await make('confirm_delete', { filename: 'a.txt' });
  await expect.poll(async () => (await get(asks)).statusMessage, soon).toContain('Delete it?');
  const { id } = await live('Delete it?');
  await server.kill('SIGKILL');
  server = await start();
  expect((await live('Delete it?')).id).toBe(id);
  approve(id, 'yes');
  for (const [taskId, text] of [
    [runs, 'Computed meanwhile.'],
    [asks, 'Deleted a.txt.'],
  ] as const) {
    const seen = { status: 'completed', result: { isError: false, content: [{ text }] } };
    await expect.poll(() => get(taskId), soon).toMatchObject(seen);
  }
  expect((await askAt(profile.url, 'tasks/list', {}, opted)).result?.tasks).toHaveLength(2);
});
