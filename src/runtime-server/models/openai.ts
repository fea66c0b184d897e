/**
 * OpenAI Chat Completions over its SDK, which is loaded with the first request: the wire that compatible servers speak as well.
 * Pure translation; no retries of its own.
 */
import type { ChatCompletionChunk, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { parseInput } from './anthropic.ts';
import { type AskWire, silenceMs, type Target } from './endpoints.ts';
import { type Answer, type Ask, type Message, ModelFault, offeredName, type Usage, wireName } from './model.ts';
import { dataUrl } from './toolsets/openai.ts';

/** Loads its SDK with the first request. */
export async function openAiClient(target: Target) {
  const { default: OpenAI } = await import('openai');
  return new OpenAI({
    apiKey: target.key ?? 'none',
    ...(target.baseUrl === null ? {} : { baseURL: target.baseUrl }),
    maxRetries: 0,
    timeout: silenceMs,
    logLevel: 'off',
  });
}

export const askOpenAi: AskWire = async (target, ask) => {
  const client = await openAiClient(target);
  const stream = await client.chat.completions.create(
    {
      model: ask.model,
      messages: [{ role: 'system', content: ask.system }, ...messagesOf(ask.messages)],
      ...(ask.tools.length === 0
        ? {}
        : {
            tools: ask.tools.map((tool) => ({
              type: 'function' as const,
              function: {
                name: wireName(tool.name),
                description: tool.description,
                parameters: { ...tool.inputSchema },
              },
            })),
          }),
      stream: true,
      stream_options: { include_usage: true },
    },
    { signal: ask.signal },
  );
  return read(stream, ask);
};

function messagesOf(messages: readonly Message[]): ChatCompletionMessageParam[] {
  return messages.flatMap((message): ChatCompletionMessageParam[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.text }];
    if (message.role === 'tools') {
      const pictures = message.results.flatMap((result) => result.pictures ?? []);
      return [
        ...message.results.map((result) => ({
          role: 'tool' as const,
          tool_call_id: result.callId,
          content: result.isError ? `Error: ${result.text}` : result.text,
        })),
        // Results are text on this wire: pictures follow them.
        ...(pictures.length === 0
          ? []
          : [
              {
                role: 'user' as const,
                content: [
                  { type: 'text' as const, text: 'Images of the result:' },
                  ...pictures.map((picture) => ({
                    type: 'image_url' as const,
                    image_url: { url: dataUrl(picture) },
                  })),
                ],
              },
            ]),
      ];
    }
    if (message.text === '' && message.calls.length === 0) return [];
    return [
      {
        role: 'assistant',
        content: message.text === '' ? null : message.text,
        ...(message.calls.length === 0
          ? {}
          : {
              tool_calls: message.calls.map((call) => ({
                id: call.id,
                type: 'function' as const,
                function: { name: wireName(call.name), arguments: JSON.stringify(call.input ?? {}) },
              })),
            }),
      },
    ];
  });
}

async function read(stream: AsyncIterable<ChatCompletionChunk>, ask: Ask): Promise<Answer> {
  let begun = false;
  let text = '';
  let refusal = '';
  let reason: string | null = null;
  let usage: Usage | null = null;
  let answerId = '';
  const calls: { id: string; name: string; json: string }[] = [];
  for await (const chunk of stream) {
    if (!Array.isArray(chunk?.choices)) continue;
    if (!begun) {
      begun = true;
      answerId = chunk.id;
      ask.onStart();
    }
    if (chunk.usage) {
      const cached = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
      usage = {
        input: Math.max(0, chunk.usage.prompt_tokens - cached),
        cachedInput: cached,
        cacheWrite: 0,
        output: chunk.usage.completion_tokens,
      };
    }
    const [choice] = chunk.choices;
    if (choice === undefined) continue;
    text += choice.delta?.content ?? '';
    refusal += choice.delta?.refusal ?? '';
    for (const piece of choice.delta?.tool_calls ?? []) {
      const index = piece.index ?? calls.length;
      const call = calls[index] ?? { id: '', name: '', json: '' };
      calls[index] = call;
      if (piece.id) call.id = piece.id;
      if (piece.function?.name) call.name = piece.function.name;
      call.json += piece.function?.arguments ?? '';
    }
    reason = choice.finish_reason ?? reason;
  }
  if (!begun) throw new ModelFault('garbage', 'The server answered without a choice: it does not speak this protocol.');
  if (reason === null) throw new ModelFault('cut', 'The answer broke off partway.');

  const wanted = calls.flatMap((call, index) =>
    call === undefined
      ? []
      : [
          {
            // Some servers leave ids out; a result must name the call it answers.
            id: call.id === '' ? `${answerId || 'call'}_${ask.messages.length}_${index}` : call.id,
            name: offeredName(ask.tools, call.name),
            ...parseInput(call.json),
          },
        ],
  );
  const refused = refusal !== '' || reason === 'content_filter';
  const stop = refused ? 'refusal' : reason === 'length' ? 'length' : wanted.length > 0 ? 'tools' : 'end';
  return { text: refusal === '' ? text : refusal, calls: wanted, stop, usage, native: null };
}
