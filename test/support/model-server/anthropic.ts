/** Anthropic Messages (`POST /v1/messages`): content blocks, SSE with named events. */
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

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
};

const usage = (output: number): Json => ({
  input_tokens: 10,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: output,
});

function blocks(reply: SpokenReply, id: string): Json[] {
  const { words, calls } = spoken(reply);
  return [
    ...(words === '' ? [] : [{ type: 'text', text: words }]),
    ...calls.map(({ name, input, toolset }, index) => ({
      type: 'tool_use',
      id: `toolu_${id}_${index}`,
      name,
      input,
      ...(toolset !== undefined && { toolset_name: toolset, caller: { type: 'direct' } }),
    })),
  ];
}

const stopReason = (reply: SpokenReply) =>
  reply.kind === 'tools'
    ? 'tool_use'
    : reply.kind === 'refusal'
      ? 'refusal'
      : reply.kind === 'length'
        ? 'max_tokens'
        : 'end_turn';

export const anthropic: Wire = {
  name: 'anthropic',
  match: (path, body) => (path === '/v1/messages' ? { model: String(body.model), stream: body.stream === true } : null),
  read(body) {
    const messages = list(body.messages);
    // Clients put system messages behind the user's: the turn is everything after the last answer.
    const turn = messages
      .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
      .filter(({ role }) => role === 'user');
    const results = turn.flatMap(({ content }) => list(content)).filter((block) => block.type === 'tool_result');
    return {
      system: contentText(body.system),
      lastUser: turn
        .map(({ content }) => contentText(content))
        .join('\n')
        .trim(),
      tools: list(body.tools).map((tool) => String(tool.name ?? tool.type)),
      toolResults: results.map((block) => ({ callId: String(block.tool_use_id), text: contentText(block.content) })),
      pictures: countOf(messages, 'type', 'image'),
      depth: messages.length,
    };
  },
  whole: (reply, model, id) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks(reply, id),
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: usage(20),
  }),
  events(reply, model, id) {
    const { pieces, pauseMs } = spoken(reply);
    const events: StreamEvent[] = [
      {
        event: 'message_start',
        data: {
          type: 'message_start',
          message: { ...anthropic.whole(reply, model, id), content: [], stop_reason: null, usage: usage(1) },
        },
      },
    ];
    for (const [index, block] of blocks(reply, id).entries()) {
      const isText = block.type === 'text';
      events.push({
        event: 'content_block_start',
        data: {
          type: 'content_block_start',
          index,
          content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
        },
      });
      const deltas: Json[] = isText
        ? inPieces(String(block.text), pieces).map((part) => ({ type: 'text_delta', text: part }))
        : inPieces(JSON.stringify(block.input), 2).map((part) => ({ type: 'input_json_delta', partial_json: part }));
      for (const [part, delta] of deltas.entries()) {
        events.push({
          event: 'content_block_delta',
          data: { type: 'content_block_delta', index, delta },
          pauseMs,
          ...(part === 0 && { cutAfter: true as const }),
        });
      }
      events.push({ event: 'content_block_stop', data: { type: 'content_block_stop', index } });
    }
    events.push(
      {
        event: 'message_delta',
        data: {
          type: 'message_delta',
          delta: { stop_reason: stopReason(reply), stop_sequence: null },
          usage: { output_tokens: 20 },
        },
      },
      { event: 'message_stop', data: { type: 'message_stop' } },
    );
    return events;
  },
  error: (status, message) => ({
    status,
    body: { type: 'error', error: { type: errorTypes[status] ?? 'api_error', message }, request_id: 'req_scripted' },
  }),
};

/** Token counting, asked beside the turns. */
export const countTokens = (path: string, body: Json): Json | null =>
  path === '/v1/messages/count_tokens' && isJson(body) ? { input_tokens: 10 } : null;
