/** OpenAI Responses (`POST /v1/responses`): output items, SSE with named events and sequence numbers. */
import { inPieces } from './script.ts';
import {
  contentText,
  countOf,
  type Json,
  list,
  type SpokenReply,
  type StreamEvent,
  spoken,
  type Wire,
} from './wire.ts';

function items(reply: SpokenReply, id: string): Json[] {
  const { words, calls } = spoken(reply);
  const part =
    reply.kind === 'refusal'
      ? { type: 'refusal', refusal: words }
      : { type: 'output_text', text: words, annotations: [], logprobs: [] };
  return [
    ...(words === ''
      ? []
      : [{ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed', content: [part] }]),
    ...calls.map(({ name, input, toolset }, index) => {
      const call = { status: 'completed', call_id: `call_${id}_${index}` };
      return toolset === undefined
        ? { id: `fc_${id}_${index}`, type: 'function_call', ...call, name, arguments: JSON.stringify(input) }
        : { id: `cu_${id}_${index}`, type: 'computer_call', ...call, pending_safety_checks: [], ...input };
    }),
  ];
}

export const openaiResponses: Wire = {
  name: 'openai-responses',
  match: (path, body) =>
    path.endsWith('/responses') ? { model: String(body.model), stream: body.stream === true } : null,
  read(body) {
    if (typeof body.input === 'string') {
      return {
        system: contentText(body.instructions),
        lastUser: body.input,
        tools: list(body.tools).map((tool) => String(tool.name)),
        toolResults: [],
        pictures: 0,
        depth: 1,
      };
    }
    const input = list(body.input);
    const last = input.at(-1);
    const ours = input.findLastIndex(
      (item) => item.role === 'assistant' || item.type === 'function_call' || item.type === 'computer_call',
    );
    return {
      system: contentText(body.instructions),
      lastUser: last?.role === 'user' ? contentText(last.content) : '',
      tools: list(body.tools).map((tool) => String(tool.name ?? tool.type)),
      toolResults: input
        .slice(ours + 1)
        .filter((item) => item.type === 'function_call_output' || item.type === 'computer_call_output')
        .map((item) => ({
          callId: String(item.call_id),
          text: typeof item.output === 'string' ? item.output : contentText(item.output),
        })),
      pictures: countOf(input, 'image_url'),
      depth: input.length,
    };
  },
  whole: (reply, model, id) => ({
    id: `resp_${id}`,
    object: 'response',
    created_at: 1_800_000_000,
    status: reply.kind === 'length' ? 'incomplete' : 'completed',
    model,
    output: items(reply, id),
    error: null,
    incomplete_details: reply.kind === 'length' ? { reason: 'max_output_tokens' } : null,
    parallel_tool_calls: true,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 30,
    },
  }),
  events(reply, model, id) {
    const { pieces, pauseMs } = spoken(reply);
    const whole = openaiResponses.whole(reply, model, id);
    const begun = { ...whole, status: 'in_progress', output: [], usage: null };
    const events: StreamEvent[] = [];
    const push = (type: string, rest: Json, more: Partial<StreamEvent> = {}) =>
      events.push({ event: type, data: { type, sequence_number: events.length, ...rest }, ...more });
    push('response.created', { response: begun });
    push('response.in_progress', { response: begun });
    for (const [index, item] of items(reply, id).entries()) {
      const at = { item_id: item.id, output_index: index };
      if (item.type === 'message') {
        const [part] = list(item.content);
        const refused = part?.type === 'refusal';
        const kind = refused ? 'refusal' : 'output_text';
        const field = refused ? 'refusal' : 'text';
        const words = String(part?.[field] ?? '');
        push('response.output_item.added', {
          output_index: index,
          item: { ...item, status: 'in_progress', content: [] },
        });
        push('response.content_part.added', { ...at, content_index: 0, part: { ...part, [field]: '' } });
        for (const [count, delta] of inPieces(words, pieces).entries()) {
          push(
            `response.${kind}.delta`,
            { ...at, content_index: 0, delta },
            { pauseMs, ...(count === 0 && { cutAfter: true as const }) },
          );
        }
        push(`response.${kind}.done`, { ...at, content_index: 0, [field]: words });
        push('response.content_part.done', { ...at, content_index: 0, part });
      } else if (item.type === 'computer_call') {
        push('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress' } });
      } else {
        push('response.output_item.added', {
          output_index: index,
          item: { ...item, status: 'in_progress', arguments: '' },
        });
        push('response.function_call_arguments.delta', { ...at, delta: item.arguments });
        push('response.function_call_arguments.done', { ...at, arguments: item.arguments });
      }
      push('response.output_item.done', { output_index: index, item });
    }
    push(reply.kind === 'length' ? 'response.incomplete' : 'response.completed', { response: whole });
    return events;
  },
  error: (status, message) => ({
    status: status === 529 ? 503 : status,
    body: {
      error: {
        message,
        type: status >= 500 ? 'server_error' : 'invalid_request_error',
        param: null,
        code: status === 429 ? 'rate_limit_exceeded' : null,
      },
    },
  }),
};
