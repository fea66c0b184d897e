/** An agent that speaks ACP, as the kit plays it. It keeps nothing: a session that is loaded is one that it knows, whatever its name. */
import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { createWork } from './agent.mjs';

const options = [
  { optionId: 'once', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];
/** What ends the turn of a session. */
const cancels = new Map();

const app = agent({ name: 'stand-in' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentInfo: { name: 'stand-in', version: '1.0.0' },
    agentCapabilities: { loadSession: true },
    authMethods: [],
  }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: randomUUID() }))
  .onRequest(methods.agent.session.load, () => ({}))
  .onNotification(methods.agent.session.cancel, ({ params }) => cancels.get(params.sessionId)?.())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const report = (update) => client.notify(methods.client.session.update, { sessionId, update });
    const say = (text) => report({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
    const { promise: interrupted, resolve } = Promise.withResolvers();
    cancels.set(sessionId, () => resolve('cancelled'));
    async function ask() {
      const rawInput = { command: 'touch made && ls' };
      const toolCall = { toolCallId: randomUUID(), title: rawInput.command, kind: 'execute', rawInput };
      await report({ sessionUpdate: 'tool_call', ...toolCall, status: 'pending' });
      const asked = { sessionId, toolCall, options };
      const { outcome } = await client.request(methods.client.session.requestPermission, asked);
      return outcome.optionId === 'once';
    }
    const work = createWork({ session: sessionId, begins: () => say('I am on it.'), ends: () => say('Done.') });
    await work(params.prompt.map(({ text }) => text ?? '').join('\n'), { interrupted, ask });
    const stopped = await Promise.race([interrupted, Promise.resolve('end_turn')]);
    return { stopReason: stopped };
  });

const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
void connection.closed.then(() => process.exit(0));
