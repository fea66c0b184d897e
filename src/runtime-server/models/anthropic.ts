/** Anthropic Messages over its SDK, which is loaded with the first request. Pure translation; no retries of its own. */
import type {
  ContentBlockParam,
  MessageParam,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages/messages';
import { type AskWire, silenceMs } from './endpoints.ts';
import {
  type Answer,
  type Ask,
  type Message,
  ModelFault,
  noUsage,
  offeredName,
  type ToolCall,
  type Usage,
  wireName,
} from './model.ts';
import { anthropicResult, anthropicToolset } from './toolsets/anthropic.ts';

export const askAnthropic: AskWire = async (target, ask) => {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({
    apiKey: target.bearer ? null : (target.key ?? 'none'),
    authToken: target.bearer ? target.key : null,
    ...(target.baseUrl === null ? {} : { baseURL: target.baseUrl }),
    maxRetries: 0,
    timeout: silenceMs,
    logLevel: 'off',
  });
  const stream = await client.messages.create(
    {
      model: ask.model,
      max_tokens: ask.maxOutputTokens,
      system: [{ type: 'text', text: ask.system, cache_control: { type: 'ephemeral' } }],
      messages: messagesOf(ask.messages),
      tools: [
        ...(ask.toolsets ?? []).map(anthropicToolset),
        ...ask.tools.map((tool) => ({
          name: wireName(tool.name),
          description: tool.description,
          input_schema: { ...tool.inputSchema, type: 'object' as const },
        })),
      ],
      stream: true,
    },
    { signal: ask.signal },
  );
  return read(stream, ask);
};

function messagesOf(messages: readonly Message[]): MessageParam[] {
  const params = messages.flatMap((message): MessageParam[] => {
    if (message.role === 'user') return [{ role: 'user', content: [{ type: 'text', text: message.text }] }];
    if (message.role === 'tools') {
      return [{ role: 'user', content: message.results.map(anthropicResult) }];
    }
    const content =
      message.native?.wire === 'anthropic' ? (message.native.content as ContentBlockParam[]) : blocksOf(message);
    return content.length === 0 ? [] : [{ role: 'assistant', content }];
  });
  // Content before this point is read from the cache next time.
  const last = params.at(-1);
  const block = Array.isArray(last?.content) ? last.content.at(-1) : undefined;
  if (block?.type === 'text' || block?.type === 'tool_result') block.cache_control = { type: 'ephemeral' };
  return params;
}

function blocksOf(message: Extract<Message, { role: 'assistant' }>): ContentBlockParam[] {
  return [
    ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
    ...message.calls.map((call) => ({
      type: 'tool_use' as const,
      id: call.id,
      name: wireName(call.name),
      input: call.problem === undefined ? call.input : {},
    })),
  ];
}

interface Block {
  [field: string]: unknown;
  type: string;
}

async function read(stream: AsyncIterable<RawMessageStreamEvent>, ask: Ask): Promise<Answer> {
  const blocks: Block[] = [];
  /** JSON of tool inputs, by block. */
  const inputs = new Map<number, string>();
  let usage: Usage = noUsage;
  let reason: string | null = null;
  let ended = false;
  let begun = false;
  for await (const event of stream) {
    switch (event.type) {
      case 'message_start':
        begun = true;
        usage = {
          input: event.message.usage.input_tokens,
          cachedInput: event.message.usage.cache_read_input_tokens ?? 0,
          cacheWrite: event.message.usage.cache_creation_input_tokens ?? 0,
          output: event.message.usage.output_tokens,
        };
        ask.onStart();
        break;
      case 'content_block_start':
        blocks[event.index] = { ...(event.content_block as unknown as Block) };
        break;
      case 'content_block_delta': {
        const block = blocks[event.index];
        if (block === undefined) break;
        if (event.delta.type === 'text_delta') block.text = `${block.text ?? ''}${event.delta.text}`;
        else if (event.delta.type === 'thinking_delta')
          block.thinking = `${block.thinking ?? ''}${event.delta.thinking}`;
        else if (event.delta.type === 'signature_delta') block.signature = event.delta.signature;
        else if (event.delta.type === 'input_json_delta') {
          inputs.set(event.index, (inputs.get(event.index) ?? '') + event.delta.partial_json);
        }
        break;
      }
      case 'message_delta':
        reason = event.delta.stop_reason;
        usage = { ...usage, output: event.usage.output_tokens };
        break;
      case 'message_stop':
        ended = true;
        break;
      default:
    }
  }
  if (!begun)
    throw new ModelFault('garbage', 'The server answered without a message: it does not speak this protocol.');
  if (!ended) throw new ModelFault('cut', 'The answer broke off partway.');

  const calls: ToolCall[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block?.type !== 'tool_use') continue;
    const parsed = parseInput(inputs.get(index) ?? '');
    block.input = parsed.input;
    const toolset = typeof block.toolset_name === 'string' ? { toolset: block.toolset_name } : {};
    const name = String(block.name);
    calls.push({
      id: String(block.id),
      name: 'toolset' in toolset ? name : offeredName(ask.tools, name),
      ...parsed,
      ...toolset,
    });
  }
  const kept = blocks.filter((block) => block !== undefined && !(block.type === 'text' && block.text === ''));
  const text = kept.flatMap((block) => (block.type === 'text' ? [String(block.text)] : [])).join('\n');
  const stop =
    reason === 'refusal'
      ? ('refusal' as const)
      : reason === 'max_tokens' || reason === 'model_context_window_exceeded'
        ? ('length' as const)
        : calls.length > 0
          ? ('tools' as const)
          : ('end' as const);
  return { text, calls, stop, usage, native: kept };
}

/** A call without arguments may come as an empty text. */
export function parseInput(json: string): { input: unknown; problem?: string } {
  if (json.trim() === '') return { input: {} };
  try {
    return { input: JSON.parse(json) };
  } catch {
    return { input: {}, problem: `The arguments are not JSON: ${json.slice(0, 200)}` };
  }
}
