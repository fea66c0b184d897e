/** An app at one bot's connector asks its person: the question is kept at the person's computer, as a task for clients that take tasks, in both revisions. */
import { expect, test } from 'vitest';
import { getAgent } from '../../../src/contracts/factory/agents-routes.ts';
import { modernVersion, tasksExtension, tasksVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { agent } from '../../cli/support.ts';
import { untilLinked } from '../../support/link.ts';
import { createProfileTasks } from '../../support/mcp/profile-tasks.ts';
import { type RpcOptions, type Seen, startToolCloud, startToolComputer } from '../tool-server/support.ts';

const bot = '/edge/mcp/bots/bot_1';
const asking = { name: 'request_approval', arguments: { title: 'Deploy?', summary: 'deploy 1.2' } };
const modern = { can: { extensions: { [tasksExtension]: {} } } };
const legacy = { version: tasksVersion };

type Result = Readonly<Record<string, unknown>>;
interface Answer {
  readonly result?: Result;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

async function start() {
  const { cloud, rpc } = await startToolCloud();
  const tasks = createProfileTasks();
  const seen: Seen[] = [];
  const computer = await startToolComputer(cloud, 0, {
    seen,
    tools: ['request_approval', 'shell.exec'],
    tasks: tasks.provider,
    call: (_name, args, _request, wish) =>
      wish === null ? tasks.atOnce('confirm_delete', args) : { task: tasks.create('confirm_delete', args) },
    routes: [bind(getAgent, ({ params }) => ({ body: agent('web', { id: params.id }) }))],
    owners: { agent: (_principal, id) => id.startsWith('bot_') },
  });
  /** With the headers that the edge wants. */
  const ask = async (method: string, params: Readonly<Record<string, unknown>>, options: RpcOptions = {}) => {
    const name = params.name ?? params.taskId;
    const headers = { 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': String(name) }) };
    const asked = { token: 'ada-key', path: bot, ...options, headers };
    return (await rpc(method, params, { version: modernVersion, ...asked })).json as unknown as Answer;
  };
  return { cloud, computer, seen, ask };
}

test('a question of an app becomes a task in both revisions, is followed by polling, and is answered', async () => {
  const { ask } = await start();
  const { result: made } = await ask('tools/call', asking, modern);
  expect(made).toMatchObject({ resultType: 'task', status: 'working' });
  const taskId = String(made?.taskId);
  const able = { can: { ...modern.can, elicitation: { form: {} } } };
  expect((await ask('tasks/get', { taskId }, able)).result).toMatchObject({ status: 'input_required' });
  const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } };
  expect((await ask('tasks/update', { taskId, inputResponses }, able)).error).toBeUndefined();
  expect((await ask('tasks/get', { taskId }, modern)).result).toMatchObject({
    status: 'completed',
    result: { isError: false },
  });

  const { result: opted } = await ask('tools/call', { ...asking, task: {} }, legacy);
  const { task } = opted as { task: { taskId: string } };
  expect((await ask('tasks/cancel', { taskId: task.taskId }, legacy)).result).toMatchObject({ status: 'cancelled' });
  expect((await ask('tasks/list', {}, legacy)).result).toMatchObject({ tasks: [{ taskId: task.taskId }, { taskId }] });
});

test('a client that takes no tasks gets the decision, or what the computer says while nobody decides', async () => {
  const { ask } = await start();
  expect((await ask('tools/call', asking)).result).toMatchObject({ resultType: 'complete', isError: false });
  expect((await ask('tasks/get', { taskId: 'x' })).error).toMatchObject({ code: -32021 });
});

test('tasks are declared at a bot’s connector only, and the tool takes them where the revision lists that', async () => {
  const { ask } = await start();
  const capabilities = async (path: string) =>
    ((await ask('server/discover', {}, { path })).result as { capabilities: object }).capabilities;
  expect(await capabilities(bot)).toMatchObject({ extensions: { [tasksExtension]: {} } });
  expect(JSON.stringify(await capabilities('/edge/mcp'))).not.toContain(tasksExtension);
  const { result } = await ask('tools/list', {}, legacy);
  const { tools } = result as { tools: { name: string; execution?: object }[] };
  expect(tools.filter(({ execution }) => execution !== undefined).map(({ name }) => name)).toEqual([
    'request_approval',
  ]);
});

test('the computer learns which app asks at which server, and no other tool of it can be reached', async () => {
  const { ask, seen } = await start();
  await ask('tools/call', asking, modern);
  await ask('tools/call', asking, { ...modern, path: '/edge/mcp/bots/bot_2' });
  expect(seen.map(({ client }) => client)).toEqual(['key:key_1@bots/bot_1', 'key:key_1@bots/bot_2']);
  const other = await ask('tools/call', { name: 'shell.exec', arguments: { command: 'id' } }, modern);
  expect(other.error).toMatchObject({ code: -32602 });
  const nobody = await ask('tools/call', asking, { ...modern, path: '/edge/mcp/bots/other' });
  expect(nobody.result).toMatchObject({ isError: true, structuredContent: { error: 'not_found' } });
  expect(seen).toHaveLength(2);
});

test('while the computer is away a question is a result that says so, and a task an error with the time', async () => {
  const { ask, cloud, computer } = await start();
  await computer.dialer.stop();
  await untilLinked(cloud.dialIns, computer.id, false);
  const since = new Date(cloud.dialIns.state(computer.id).since).toISOString();
  expect((await ask('tools/call', asking, modern)).result).toMatchObject({
    isError: true,
    structuredContent: { error: 'computer_unavailable', since },
  });
  expect((await ask('tasks/get', { taskId: 'x' }, modern)).error).toMatchObject({
    code: -32603,
    data: { error: 'computer_unavailable', since },
  });
});
