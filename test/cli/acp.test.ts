/** `gantry acp <bot>`: a bot as an agent for an editor, over its standard streams, against a whole Gantry as `gantry start` runs it. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { type Combined, startCombined } from '../../src/host/combined.ts';
import { readSettings } from '../../src/host/settings.ts';
import { scratchHome } from '../host/support.ts';
import { keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { compileCache } from '../support/compile-cache.ts';
import { run as runAt } from './support.ts';

const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const standIn = resolve(import.meta.dirname, '../support/stand-in-acp.mjs');
const waits = { timeout: 20_000, interval: 50 };

let gantry: Combined;
let env: Record<string, string>;
let work: string;
const stop = keepUntilEnd();
const run = (...argv: string[]) => runAt(env, argv);

beforeAll(async () => {
  const home = scratchHome();
  env = { PATH: process.env.PATH ?? '', HOME: home, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  onEnd(() => gantry.close({ stopBots: true }));
  work = (await run('teams', 'ls', '--json')).code === 0 ? join(home, 'workspace') : home;
  const folder = join(work, '.gantry', 'teams', 'crew');
  mkdirSync(folder, { recursive: true });
  const command = `${process.execPath} ${standIn}`;
  writeFileSync(join(folder, 'team.yaml'), `bots:\n  - { bot: dev, harness: acp, command: ${command} }\n`);
  const { hash } = (await run('trust', '--json')).json() as { hash: string };
  expect((await run('trust', '--yes', hash)).code).toBe(0);
  const up = await run('teams', 'up', 'crew');
  expect(up.code, up.err).toBe(0);
}, 60_000);
afterAll(stop);

interface Editor {
  readonly agent: ClientConnection['agent'];
  readonly updates: SessionUpdate[];
  readonly asked: { request: RequestPermissionRequest; signal: AbortSignal }[];
  said(): string;
}

function openEditor(answer: (request: RequestPermissionRequest) => Promise<RequestPermissionResponse>): Editor {
  const child = spawn(process.execPath, [cli, 'acp', 'dev@crew'], {
    env: { ...env, ...compileCache },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onEnd(async () => {
    child.stdin.end();
    await new Promise((resolved) => (child.exitCode === null ? child.once('exit', resolved) : resolved(null)));
  });
  const updates: SessionUpdate[] = [];
  const asked: Editor['asked'] = [];
  const connection = client({ name: 'editor' })
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => {
      asked.push({ request: params, signal });
      return answer(params);
    })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  const said = () =>
    updates
      .flatMap((update) =>
        update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? [update.content.text] : [],
      )
      .join('');
  return { agent: connection.agent, updates, asked, said };
}

async function begin(editor: Editor): Promise<string> {
  const hello = await editor.agent.request(methods.agent.initialize, { protocolVersion: 1 });
  expect(hello).toMatchObject({ protocolVersion: 1, agentInfo: { name: 'gantry', title: 'dev@crew in Gantry' } });
  return (await editor.agent.request(methods.agent.session.new, { cwd: work, mcpServers: [] })).sessionId;
}

const prompt = (editor: Editor, sessionId: string, text: string) =>
  editor.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
const waiting = async () => (await run('workspace', 'approvals', '--json')).json().approvals as Approval[];
const never = () => new Promise<RequestPermissionResponse>(() => {});

test('an editor talks to a bot: what it says and plans comes as it works, and the thread has both sides', async () => {
  const editor = openEditor(never);
  const sessionId = await begin(editor);
  expect(await prompt(editor, sessionId, 'make a plan for us')).toEqual({ stopReason: 'end_turn' });
  expect(editor.said()).toBe('You said: make a plan for us');
  expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'plan').length).toBeGreaterThan(0);
  const again = openEditor(never);
  await again.agent.request(methods.agent.initialize, { protocolVersion: 1 });
  await again.agent.request(methods.agent.session.load, { sessionId, cwd: work, mcpServers: [] });
  await vi.waitFor(() => expect(again.said()).toBe('You said: make a plan for us'), waits);
}, 60_000);

test('a question is answered in the editor', async () => {
  const editor = openEditor(async () => ({ outcome: { outcome: 'selected', optionId: 'approve' } }));
  const sessionId = await begin(editor);
  expect(await prompt(editor, sessionId, 'edit from-editor.txt')).toEqual({ stopReason: 'end_turn' });
  expect(existsSync(join(work, 'from-editor.txt'))).toBe(true);
  expect(editor.asked[0]?.request.toolCall.title).toContain('asks to change');
  expect(editor.updates).toContainEqual(expect.objectContaining({ sessionUpdate: 'tool_call', kind: 'edit' }));
}, 60_000);

test('a question that is answered in the inbox is taken back in the editor, and the other way round changes nothing', async () => {
  const editor = openEditor(never);
  const sessionId = await begin(editor);
  const turn = prompt(editor, sessionId, 'edit from-inbox.txt');
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), waits);
  await vi.waitFor(() => expect(editor.asked).toHaveLength(1), waits);
  const [approval] = await waiting();
  expect((await run('workspace', 'reject', approval?.id ?? '')).code).toBe(0);
  expect(await turn).toEqual({ stopReason: 'end_turn' });
  expect(editor.said()).toContain('The answer was no.');
  expect(editor.asked[0]?.signal.aborted).toBe(true);
  expect(existsSync(join(work, 'from-inbox.txt'))).toBe(false);
}, 60_000);

test('a prompt that is cancelled in the editor ends the turn of the bot', async () => {
  const editor = openEditor(never);
  const sessionId = await begin(editor);
  const turn = prompt(editor, sessionId, 'hang');
  await vi.waitFor(() => expect(editor.said()).toContain('I am on it.'), waits);
  await editor.agent.notify(methods.agent.session.cancel, { sessionId });
  expect(await turn).toEqual({ stopReason: 'cancelled' });
  await vi.waitFor(async () => {
    const { state } = (await run('agents', 'show', 'dev@crew', '--json')).json() as { state: string };
    expect(state).toBe('idle');
  }, waits);
}, 60_000);
