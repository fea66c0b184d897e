/**
 * An agent that speaks ACP, written with the SDK's own side of it: what a message asks for is what it does. It keeps its sessions in files, as real agents
 * do. Options: --no-load, --resume, --sign-in, --old, --silent, --modes, --unasked.
 */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { agent, methods, ndJsonStream, RequestError } from '@agentclientprotocol/sdk';

const has = (option) => process.argv.includes(option);
const kept = process.env.STAND_IN_ACP_HOME ?? join(process.cwd(), '.stand-in-acp');
const fileOf = (id) => join(kept, `${id}.json`);
const sessions = new Map();
let next = 0;
let signedIn = !has('--sign-in');

const modes = {
  currentModeId: 'ask',
  availableModes: [
    { id: 'ask', name: 'Ask', description: 'Asks before it acts' },
    { id: 'plan', name: 'Plan' },
    ...(has('--unasked') ? ['auto', 'default'].map((id) => ({ id, name: id })) : []),
  ],
};
const withModes = (session) => (has('--modes') ? { modes: { ...modes, currentModeId: session.mode } } : {});

function keep(session) {
  mkdirSync(kept, { recursive: true });
  writeFileSync(fileOf(session.id), JSON.stringify({ id: session.id, said: session.said }));
}

const hello = () => ({
  protocolVersion: has('--old') ? 7 : 1,
  agentInfo: { name: 'stand-in', version: '1.0.0' },
  agentCapabilities: {
    loadSession: !has('--no-load'),
    mcpCapabilities: { http: true },
    ...(has('--resume') ? { sessionCapabilities: { resume: {} } } : {}),
  },
  authMethods: has('--sign-in') ? [{ id: 'browser', name: 'Sign in with a browser' }] : [],
});

function begin({ cwd, mcpServers }, id = `s${process.pid}-${++next}`, said = []) {
  const session = { id, cwd, said, tools: mcpServers ?? [], mode: has('--unasked') ? 'auto' : 'ask', cancel: () => {} };
  sessions.set(id, session);
  return session;
}

const app = agent({ name: 'stand-in' })
  .onRequest(methods.agent.initialize, () => (has('--silent') ? new Promise(() => {}) : hello()))
  .onRequest(methods.agent.authenticate, () => {
    signedIn = true;
    return {};
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (!signedIn) throw RequestError.authRequired();
    const session = begin(params);
    keep(session);
    return { sessionId: session.id, ...withModes(session) };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    if (!existsSync(fileOf(params.sessionId))) throw new RequestError(-32002, 'No such session');
    const { said } = JSON.parse(readFileSync(fileOf(params.sessionId), 'utf8'));
    const session = begin(params, params.sessionId, said);
    for (const [who, text] of said) {
      const sessionUpdate = who === 'user' ? 'user_message_chunk' : 'agent_message_chunk';
      const update = { sessionUpdate, content: { type: 'text', text } };
      await client.notify(methods.client.session.update, { sessionId: session.id, update });
    }
    return withModes(session);
  })
  .onRequest(methods.agent.session.resume, ({ params }) => {
    const { said } = JSON.parse(readFileSync(fileOf(params.sessionId), 'utf8'));
    return withModes(begin(params, params.sessionId, said));
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    sessions.get(params.sessionId).mode = params.modeId;
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancel())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = sessions.get(params.sessionId);
    const text = params.prompt.map((block) => block.text ?? '').join('\n');
    session.said.push(['user', text]);
    keep(session);
    const cancelled = new Promise((resolve) => {
      session.cancel = () => resolve('cancelled');
    });
    const report = (update) => client.notify(methods.client.session.update, { sessionId: session.id, update });
    const turn = { session, client, report, cancelled, text };
    const stopReason = await Promise.race([act(turn), text.includes('deaf') ? new Promise(() => {}) : cancelled]);
    keep(session);
    return { stopReason };
  });

const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
void connection.closed.then(() => process.exit(0));

/** The words after one of these. */
const after = (text, word) => new RegExp(`\\b${word} (\\S+)`).exec(text)?.[1];

async function say(turn, text) {
  turn.session.said.push(['agent', text]);
  const half = Math.ceil(text.length / 2);
  for (const part of [text.slice(0, half), text.slice(half)])
    await turn.report({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: part } });
}

async function act(turn) {
  const { text, report, session } = turn;
  if (text.includes('die at once')) process.exit(3);
  if (text.includes('think'))
    await report({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'Let me see.' } });
  if (text.includes('make a plan')) await plan(report);
  const flood = Number(after(text, 'flood') ?? 0);
  for (let n = 0; n < flood; n += 1)
    await report({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `${n} ` } });
  if (text.includes('junk')) {
    process.stdout.write('this is a log line\n{"jsonrpc":"2.0","id":99,"result":{}}\n[1,2]\n');
    const long = `{"jsonrpc":"2.0","method":"x","params":"${'y'.repeat(9 * 1024 * 1024)}"}\n`;
    // The SDK's stream drops what it writes while this one is full.
    if (!process.stdout.write(long)) await once(process.stdout, 'drain');
  }
  if (text.includes('hang') || text.includes('deaf')) {
    await say(turn, 'I am on it.');
    return new Promise(() => {});
  }
  const wait = after(text, 'wait-for');
  if (wait !== undefined) {
    if (!text.includes('silently')) await say(turn, 'I am waiting.');
    while (!existsSync(join(session.cwd, wait))) await delay(20);
  }
  const edit = after(text, 'edit');
  if (edit !== undefined) return change(turn, edit);
  const viaClient = /\bclient-(\w+) (\S+)(?: `([^`]*)`)?/.exec(text);
  if (viaClient !== null) return throughClient(turn, viaClient.slice(1));
  const run = /\brun `([^`]+)`/.exec(text)?.[1];
  if (run !== undefined) return execute(turn, run);
  if (text.includes('refuse')) return 'refusal';
  if (text.includes('fail')) throw RequestError.internalError({ details: 'the model is on fire' });
  const looked = after(text, 'looks-at');
  const variable = after(text, 'value-of');
  if (looked !== undefined) await say(turn, `sees it: ${existsSync(looked)}`);
  else if (variable !== undefined) await say(turn, process.env[variable] ?? 'none');
  else if (text.includes('which mode')) await say(turn, `mode ${session.mode}`);
  else if (text.includes('which tools'))
    await say(turn, JSON.stringify(session.tools.map(({ name, url }) => [name, url])));
  else if (text.includes('how often'))
    await say(turn, `${session.said.filter(([who]) => who === 'user').length} times`);
  else await say(turn, `You said: ${text.split('\n').slice(1).join(' ')}`);
  return 'end_turn';
}

async function plan(report) {
  const entries = (first) => [
    { content: 'Look', priority: 'high', status: first },
    { content: 'Write', priority: 'low', status: 'pending' },
  ];
  await report({ sessionUpdate: 'plan', entries: entries('in_progress') });
  await report({ sessionUpdate: 'plan', entries: entries('completed') });
}

const options = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'once', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];

async function permit({ client, session, text }, toolCall) {
  if (text.includes('die asking')) setTimeout(() => process.exit(9), 300);
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId: session.id,
    toolCall,
    options: text.includes('only always') ? options.filter(({ kind }) => kind !== 'allow_once') : options,
  });
  return outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome;
}

async function change(turn, name) {
  const path = join(turn.session.cwd, name);
  const content = [{ type: 'diff', path, oldText: null, newText: 'made by the agent\n' }];
  const toolCall = { toolCallId: `edit-${Date.now()}`, title: `Write ${name}`, kind: 'edit', content };
  if (!turn.text.includes('unreported'))
    await turn.report({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending', locations: [{ path, line: 1 }] });
  const answer = await permit(turn, { ...toolCall, rawInput: { path, content: 'made by the agent\n' } });
  if (answer === 'once') writeFileSync(path, 'made by the agent\n');
  const status = answer === 'once' ? 'completed' : 'failed';
  await turn.report({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, status });
  await say(turn, `The answer was ${answer}.`);
  return 'end_turn';
}

/** `client-reads FILE`, `client-writes FILE `TEXT``, `client-runs PROGRAM `ARGUMENTS``; with "asks first" it asks for permission before. */
async function throughClient(turn, [what, name, more]) {
  const { client, session, text } = turn;
  const { fs, terminal } = methods.client;
  const { id: sessionId, cwd } = session;
  const path = resolve(cwd, name);
  const words = more === undefined ? [] : more.split(' ');
  const toolCallId = `client-${Date.now()}`;
  const toolCall =
    what === 'runs'
      ? { toolCallId, kind: 'execute', title: name, rawInput: { command: [name, ...words].join(' ') } }
      : { toolCallId, kind: 'edit', title: `Write ${name}`, rawInput: { path }, locations: [{ path }] };
  await turn.report({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending' });
  if (text.includes('asks first')) await permit(turn, toolCall);
  try {
    if (what === 'reads') {
      const { content } = await client.request(fs.readTextFile, {
        sessionId,
        path,
        ...(text.includes('second line') ? { line: 2, limit: 1 } : {}),
      });
      await say(turn, `It has: ${content}`);
    } else if (what === 'writes') {
      await client.request(fs.writeTextFile, { sessionId, path, content: more });
      await say(turn, 'I wrote it.');
    } else {
      const { terminalId } = await client.request(terminal.create, {
        sessionId,
        command: name,
        args: words,
        outputByteLimit: 100,
      });
      const content = [{ type: 'terminal', terminalId }];
      await turn.report({ sessionUpdate: 'tool_call_update', toolCallId, content });
      if (text.includes('kills it')) await client.request(terminal.kill, { sessionId, terminalId });
      const exit = await client.request(terminal.waitForExit, { sessionId, terminalId });
      const { output, truncated } = await client.request(terminal.output, { sessionId, terminalId });
      await client.request(terminal.release, { sessionId, terminalId });
      await say(turn, JSON.stringify({ ...exit, output, truncated }));
    }
  } catch (error) {
    await say(turn, `It was refused: ${error.message} ${JSON.stringify(error.data ?? null)}`);
  }
  await turn.report({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' });
  return 'end_turn';
}

async function execute(turn, command) {
  const toolCall = { toolCallId: `run-${Date.now()}`, title: command, kind: 'execute', rawInput: { command } };
  await turn.report({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending' });
  const answer = await permit(turn, toolCall);
  const ran = answer === 'once' ? { rawOutput: 'it ran', status: 'completed' } : { status: 'failed' };
  await turn.report({ sessionUpdate: 'tool_call_update', toolCallId: toolCall.toolCallId, ...ran });
  await say(turn, `The answer was ${answer}.`);
  return 'end_turn';
}
