/** OpenAI Chat Completions (`POST /v1/chat/completions`): choices, SSE without event names, `[DONE]` at the end. */
import { inPieces } from './script.ts';
import {
  contentText,
  countOf,
  isJson,
  type Json,
  list,
  type SpokenReply,
  type StreamEvent,
  spoken,
  type Wire,
} from './wire.ts';

const finish = (reply: SpokenReply) =>
  reply.kind === 'tools' ? 'tool_calls' : reply.kind === 'length' ? 'length' : 'stop';
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const created = 1_800_000_000;

function toolCalls(reply: SpokenReply, id: string): Json[] {
  return spoken(reply).calls.map(({ name, input }, index) => ({
    id: `call_${id}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
}

export const openaiChat: Wire = {
  name: 'openai-chat',
  match: (path, body) =>
    path.endsWith('/chat/completions') ? { model: String(body.model), stream: body.stream === true } : null,
  read(body) {
    const messages = list(body.messages);
    const last = messages.at(-1);
    const afterAssistant = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
    return {
      system: messages
        .filter((message) => message.role === 'system' || message.role === 'developer')
        .map((message) => contentText(message.content))
        .join('\n'),
      lastUser: last?.role === 'user' ? contentText(last.content) : '',
      tools: list(body.tools).map((tool) => (isJson(tool.function) ? String(tool.function.name) : '')),
      toolResults: afterAssistant
        .filter((message) => message.role === 'tool')
        .map((message) => ({ callId: String(message.tool_call_id), text: contentText(message.content) })),
      pictures: countOf(messages, 'type', 'image_url'),
      depth: messages.length,
    };
  },
  whole(reply, model, id) {
    const { words } = spoken(reply);
    const calls = toolCalls(reply, id);
    const message =
      reply.kind === 'refusal'
        ? { role: 'assistant', content: null, refusal: words }
        : { role: 'assistant', content: words || null, refusal: null, ...(calls.length > 0 && { tool_calls: calls }) };
    return {
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message, finish_reason: finish(reply), logprobs: null }],
      usage,
    };
  },
  events(reply, model, id) {
    const { words, pieces, pauseMs } = spoken(reply);
    const chunk = (delta: Json, reason: string | null = null): Json => ({
      id: `chatcmpl-${id}`,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const events: StreamEvent[] = [{ data: chunk({ role: 'assistant', content: '' }) }];
    const field = reply.kind === 'refusal' ? 'refusal' : 'content';
    for (const [part, piece] of (words === '' ? [] : inPieces(words, pieces)).entries()) {
      events.push({ data: chunk({ [field]: piece }), pauseMs, ...(part === 0 && { cutAfter: true as const }) });
    }
    for (const [index, call] of toolCalls(reply, id).entries()) {
      events.push({ data: chunk({ tool_calls: [{ index, ...call }] }) });
    }
    events.push({ data: chunk({}, finish(reply)) });
    events.push({ data: { ...chunk({}), choices: [], usage } }, { data: '[DONE]' });
    return events;
  },
  error: (status, message) => ({
    // OpenAI has no 529; an overloaded service answers 503.
    status: status === 529 ? 503 : status,
    body: {
      error: {
        message,
        type: status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error',
        param: null,
        code: status === 429 ? 'rate_limit_exceeded' : null,
      },
    },
  }),
};
