/**
 * The official client of tasks (`@modelcontextprotocol/ext-tasks`) in both revisions, at the three places where Gantry has tasks: the tool server with a real
 * person's answer, the cloud that passes them on, and a bot's connector at the edge.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  type RawClientDispatch,
  resultFromTaskOutcome,
  toolDeclarationFromMcpTool,
} from '@modelcontextprotocol/ext-tasks/client';
import { expect, test } from 'vitest';
import { getAgent } from '../../../src/contracts/factory/agents-routes.ts';
import { modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { iso, systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { localUserId } from '../../../src/kit/http/principals.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { agent } from '../../cli/support.ts';
import { startToolCloud, startToolComputer } from '../../cloud-api/tool-server/support.ts';
import { onEnd } from '../../support/at-end.ts';
import { createProfileTasks } from '../../support/mcp/profile-tasks.ts';
import { openTaskServer } from '../../support/mcp/task-server.ts';
import { scratchFolder } from '../../support/scratch.ts';

const eras = [{ era: 'modern' }, { era: 'legacy' }] as const;
const clientInfo = { name: 'ext-tasks', version: '1' };

/** A session of the package; its own client refuses what 2026-07-28 adds, so the host sends those requests, as its guide says. */
async function sessionAt(url: string, token: string, era: 'modern' | 'legacy', tool: string) {
  const authorization = `Bearer ${token}`;
  const client = new Client(clientInfo, { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : 'auto' } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }),
  );
  onEnd(() => client.close());
  expect(client.getProtocolEra()).toBe(era);
  const { tools } = await client.listTools();
  const declaration = toolDeclarationFromMcpTool(tools.find(({ name }) => name === tool)!);
  let id = 0;
  const rawDispatch: RawClientDispatch = async (request) => {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
    id += 1;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        'mcp-protocol-version': modernVersion,
        'mcp-method': method,
        'mcp-name': params.name ?? params.taskId ?? '',
      },
      body: JSON.stringify({ ...(request as object), jsonrpc: '2.0', id }),
    });
    const { result, error } = (await response.json()) as { result?: never; error?: never };
    return (error === undefined ? { kind: 'result', result } : { kind: 'error', error }) as JsonRpcResponse;
  };
  const v2RequestFraming = { protocolVersion: modernVersion, clientInfo, clientCapabilities: {} };
  const endpointId = 'gantry';
  const session =
    era === 'modern'
      ? createTaskSessionFromClient(client, { endpointId, rawDispatch, v2RequestFraming })
      : createTaskSessionFromClient(client, { endpointId });
  onEnd(() => session.close());
  const task = { preference: era === 'modern' ? 'allow' : 'require' } as const;
  return { session, call: (args: Record<string, string>) => session.callTool(tool, args, { declaration, task }) };
}

test.each(eras)(
  'at the tool server it waits for the person, settles on their yes, and cancels ($era)',
  async ({ era }) => {
    const root = scratchFolder();
    const server = await openTaskServer({ root, clock: systemClock, timers: systemTimers });
    onEnd(() => server.close());
    await server.start();
    const { session, call } = await sessionAt(server.url, 'one', era, 'request_approval');
    expect(session.capabilities).toMatchObject({ execution: true, cancellation: true });
    const execution = await call({ title: 'Deploy?', summary: 'deploy 1.2' });
    expect(execution.kind).toBe('task');
    const questions = () => server.approvals.live();
    await expect.poll(questions).toHaveLength(1);
    const resolvedBy = { user: localUserId, surface: 'browser' };
    const at = iso(systemClock.now());
    await server.approvals.answer({ id: (await questions())[0]!.id, decision: 'approve', note: 'now', resolvedBy, at });
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({
      structuredContent: { decision: 'approve', note: 'now' },
    });

    const other = await call({ title: 'Deploy?', summary: 'deploy 1.3' });
    await expect.poll(questions).toHaveLength(1);
    await other.cancel();
    expect((await other.settle()).outcome).toMatchObject({ status: 'cancelled' });
    await expect.poll(questions).toEqual([]);
  },
);

async function cloudWith(tool: string) {
  const { cloud, web } = await startToolCloud();
  const tasks = createProfileTasks();
  await startToolComputer(cloud, 0, {
    tools: [tool],
    tasks: tasks.provider,
    call: (_name, _args, _request, wish) => {
      const args = { seconds: 0.2, label: 'far' };
      return wish === null ? tasks.atOnce('slow_compute', args) : { task: tasks.create('slow_compute', args) };
    },
    routes: [bind(getAgent, ({ params }) => ({ body: agent('web', { id: params.id }) }))],
    owners: { agent: () => true },
  });
  return (path: string) => `http://127.0.0.1:${web.port}${path}`;
}

test.each(eras)('through the cloud a task of the computer settles ($era)', async ({ era }) => {
  const at = await cloudWith('slow_compute');
  const { call } = await sessionAt(at('/mcp/server'), 'ada-key', era, 'slow_compute');
  const execution = await call({});
  expect(execution.kind).toBe('task');
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  expect(result).toMatchObject({ content: [{ text: 'Computed far.' }] });
});

test.each(eras)('at a bot’s connector a question of the app settles ($era)', async ({ era }) => {
  const at = await cloudWith('request_approval');
  const { call } = await sessionAt(at('/edge/mcp/bots/bot_1'), 'ada-key', era, 'request_approval');
  const execution = await call({ title: 'Deploy?', summary: 'deploy 1.2' });
  expect(execution.kind).toBe('task');
  const result = resultFromTaskOutcome((await execution.settle()).outcome);
  expect(result).toMatchObject({ content: [{ text: 'Computed far.' }] });
});
