/**
 * `gantry acp <bot>`: a bot as an agent for an editor that speaks the Agent Client Protocol. The standard streams are the wire, so nothing else is printed.
 * A session is a thread with the bot; what it says and does while it answers is passed on as it comes. Questions are answered in the editor or in the
 * inbox, whichever comes first.
 */
import { type AgentContext, agent, type ContentBlock, methods, RequestError } from '@agentclientprotocol/sdk';
import { AppError } from '../../contracts/common/errors.ts';
import { packageVersion } from '../../host/places.ts';
import { messageStream } from '../../kit/acp/stream.ts';
import { systemTimers } from '../../kit/clock/timers.ts';
import { connectHome } from '../approvals/home.ts';
import { type Action, text } from '../command.ts';
import { findAgent } from '../verbs/find-agent.ts';
import { createFollower } from './follow.ts';
import { askInEditor } from './questions.ts';

export const acp: Action = async (context, input) => {
  const { stdin, stdout } = context.terminal;
  const { factory } = await context.connect();
  const bot = await findAgent(factory, text(input, 'bot'), context.names);
  // Where only a runtime runs, questions are answered in its cloud alone.
  const home = await connectHome(context).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'transport') return null;
    throw error;
  });
  const ending = new AbortController();
  /** Prompts under way, by session; their bot is interrupted when they are cancelled. */
  const prompts = new Map<string, AbortController>();

  const open = async (cwd: string): Promise<string> => {
    const made = await factory.createThread({ body: { title: `Editor in ${cwd}`.slice(0, 200), bot: bot.address } });
    if ('dryRun' in made) throw RequestError.internalError();
    return made.id;
  };

  const replay = async (sessionId: string, client: AgentContext): Promise<void> => {
    const { messages } = await factory.listMessages({ params: { id: sessionId }, query: { limit: 200 } });
    for (const { direction, text: said } of messages.toReversed()) {
      const sessionUpdate = direction === 'in' ? 'user_message_chunk' : 'agent_message_chunk';
      const update = { sessionUpdate, content: { type: 'text', text: said } } as const;
      await client.notify(methods.client.session.update, { sessionId, update });
    }
  };

  const prompt = async (sessionId: string, blocks: readonly ContentBlock[], client: AgentContext) => {
    const cancelling = new AbortController();
    prompts.set(sessionId, cancelling);
    const over = new AbortController();
    try {
      const follower = await createFollower(factory, bot, sessionId, (update) =>
        client.notify(methods.client.session.update, { sessionId, update }),
      );
      const sent = await factory.sendMessage({ body: { to: bot.address, text: wordsOf(blocks), threadId: sessionId } });
      if ('dryRun' in sent) throw RequestError.internalError();
      if (sent.state === 'failed')
        throw RequestError.internalError({ details: sent.detail ?? 'It was not delivered.' });
      const asking = home === null ? null : askInEditor({ home, botId: bot.id, sessionId, client, over: over.signal });
      await follower.untilAnswered(sent.id, AbortSignal.any([cancelling.signal, ending.signal]));
      over.abort();
      await asking;
      return { stopReason: cancelling.signal.aborted ? ('cancelled' as const) : ('end_turn' as const) };
    } finally {
      over.abort();
      prompts.delete(sessionId);
    }
  };

  const connection = agent({ name: 'gantry' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: 1,
      agentInfo: { name: 'gantry', title: `${bot.address} in Gantry`, version: packageVersion() },
      agentCapabilities: { loadSession: true, promptCapabilities: { embeddedContext: true } },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, async ({ params }) => ({ sessionId: await open(params.cwd) }))
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      await replay(params.sessionId, client);
      return {};
    })
    .onRequest(methods.agent.session.prompt, ({ params, client }) => prompt(params.sessionId, params.prompt, client))
    .onNotification(methods.agent.session.cancel, async ({ params }) => {
      const cancelling = prompts.get(params.sessionId);
      if (cancelling === undefined) return;
      await factory.steerAgent({ body: { agent: bot.address, action: 'interrupt' } }).catch(() => {});
      cancelling.abort();
    })
    .connect(
      messageStream({
        input: stdin,
        output: stdout,
        timers: systemTimers,
        signal: ending.signal,
        onLeftOut: (what) => context.output.note(`Left out ${what}`),
      }),
    );
  await connection.closed;
  ending.abort();
  return 0;
};

/** What an editor sends as text: files that it names stay links, files that it embeds come whole. */
function wordsOf(blocks: readonly ContentBlock[]): string {
  const parts = blocks.map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'resource_link') return `[${block.name}](${block.uri})`;
    if (block.type === 'resource' && 'text' in block.resource) {
      return `\n${block.resource.uri}:\n\n${block.resource.text}\n`;
    }
    return '';
  });
  const words = parts.join('').trim();
  if (words !== '') return words;
  throw RequestError.invalidParams({ details: 'The message has no text.' });
}
