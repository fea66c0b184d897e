/**
 * What a bot says and does after a message, as updates for an editor: its conversation where it has one, otherwise its answers in the thread. Must not
 * know the wire.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionUpdate, ToolCallContent, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';
import { AppError } from '../../contracts/common/errors.ts';
import { type Agent, runsInPane } from '../../contracts/factory/agent.ts';
import type { ConversationEntry, ConversationTool } from '../../contracts/factory/conversation-routes.ts';
import type { FactoryClient } from '../connect.ts';

type Tell = (update: SessionUpdate) => Promise<void>;

/** How often the bot is looked at while it works, in ms. */
const lookMs = 300;
/** A bot may rest for a moment before its answer is in the thread, in looks. */
const restingLooks = 10;

export async function createFollower(factory: FactoryClient, bot: Agent, threadId: string, tell: Tell) {
  const params = { id: bot.id };
  const hasConversation =
    bot.binding.type === 'hosted' || (bot.binding.harness !== undefined && !runsInPane(bot.binding.harness));
  let rev = hasConversation ? (await factory.agentConversation({ params, query: { limit: 1 } })).rev : 0;
  const told = new Map<number, { text: number; tool: string }>();
  const { messages: before } = await factory.listMessages({ params: { id: threadId }, query: { limit: 1 } });
  let last = before[0]?.id ?? null;
  let saidHere = 0;

  async function readConversation(): Promise<void> {
    for (let more = true; more; ) {
      const page = await factory.agentConversation({ params, query: { after: rev } });
      for (const entry of page.entries) for (const update of updatesOf(entry, told)) await tell(update);
      rev = page.rev;
      more = page.more;
    }
  }

  /** Answers in the thread since the last look. */
  async function readThread(): Promise<number> {
    const { messages } = await factory.listMessages({ params: { id: threadId }, query: { limit: 50 } });
    const from = messages.findIndex(({ id }) => id === last);
    const fresh = (from === -1 ? messages : messages.slice(0, from)).toReversed();
    last = messages[0]?.id ?? last;
    const answers = fresh.filter(({ direction }) => direction === 'out');
    if (!hasConversation) {
      for (const { text } of answers)
        await tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `${text}\n\n` } });
    }
    return answers.length;
  }

  return {
    /** Resolves once the bot has taken the message and rests again, with its answer passed on. */
    async untilAnswered(deliveryId: string, signal: AbortSignal): Promise<void> {
      for (let resting = 0; !signal.aborted; ) {
        await delay(lookMs, undefined, { signal }).catch(() => {});
        if (hasConversation) await readConversation();
        saidHere += await readThread();
        const { deliveries } = await factory.listDeliveries({ query: { agent: bot.address, limit: 50 } });
        const delivery = deliveries.find(({ id }) => id === deliveryId);
        if (delivery?.state === 'failed') {
          throw new AppError(
            'refused',
            delivery.detail ?? 'The message was not delivered.',
            'Look at the bot in Gantry.',
          );
        }
        if (delivery?.state === 'accepted' || delivery?.state === 'queued') continue;
        const { state } = await factory.getAgent({ params });
        const works = state === 'working' || state === 'checking' || state === 'needs_you' || state === 'starting';
        resting = works ? 0 : resting + 1;
        if (!works && (saidHere > 0 || resting > restingLooks)) return;
      }
    },
  };
}

const kinds: readonly string[] = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch'];
const statuses: Readonly<Record<ConversationTool['status'], ToolCallStatus>> = {
  pending: 'pending',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  unknown: 'failed',
};

/** Only what is new of an entry: texts grow at their end. */
function updatesOf(entry: ConversationEntry, told: Map<number, { text: number; tool: string }>): SessionUpdate[] {
  const known = told.get(entry.seq) ?? { text: 0, tool: '' };
  told.set(entry.seq, known);
  const { kind, text = '', tool, plan } = entry;
  if (tool !== undefined) {
    const now = JSON.stringify(tool);
    if (now === known.tool) return [];
    const isNew = known.tool === '';
    known.tool = now;
    return [callOf(entry.seq, tool, isNew)];
  }
  if (plan !== undefined) {
    const entries = plan.map((step) => ({ content: step.text, status: step.status, priority: 'medium' as const }));
    return [{ sessionUpdate: 'plan', entries }];
  }
  if (kind !== 'text' && kind !== 'thought') return [];
  const more = text.slice(known.text);
  known.text = text.length;
  if (more === '') return [];
  const sessionUpdate = kind === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk';
  return [{ sessionUpdate, content: { type: 'text', text: more } }];
}

function callOf(seq: number, tool: ConversationTool, isNew: boolean): SessionUpdate {
  const content: ToolCallContent[] = [
    ...(tool.diffs ?? []).map(({ path, before, after }) => ({
      type: 'diff' as const,
      path,
      oldText: before,
      newText: after,
    })),
    ...(tool.output === undefined
      ? []
      : [{ type: 'content' as const, content: { type: 'text' as const, text: tool.output } }]),
  ];
  const kind = (kinds.includes(tool.kind) ? tool.kind : 'other') as ToolKind;
  const locations = (tool.places ?? []).map((place) => ({ path: place.replace(/:\d+$/, '') }));
  const said = {
    toolCallId: `call-${seq}`,
    title: tool.title,
    kind,
    status: statuses[tool.status],
    content,
    locations,
  };
  return isNew ? { sessionUpdate: 'tool_call', ...said } : { sessionUpdate: 'tool_call_update', ...said };
}
