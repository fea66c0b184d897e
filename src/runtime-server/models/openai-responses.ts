/**
 * OpenAI Responses over its SDK, which is loaded with the first request: only for its own `computer` tool, which the other wire lacks. Nothing is
 * stored there (`store: false`). Pure translation; no retries of its own.
 */
import type {
  Response,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseStreamEvent,
  Tool,
} from 'openai/resources/responses/responses';
import { parseInput } from './anthropic.ts';
import type { AskWire } from './endpoints.ts';
import {
  type Answer,
  type Ask,
  type FaultKind,
  type Message,
  ModelFault,
  offeredName,
  type ToolCall,
  type Usage,
  wireName,
} from './model.ts';
import { openAiClient } from './openai.ts';
import { computerOutput, dataUrl, openAiToolset, said, unacknowledged } from './toolsets/openai.ts';

export const askOpenAiResponses: AskWire = async (target, ask) => {
  const client = await openAiClient(target);
  const tools: Tool[] = [
    ...(ask.toolsets === undefined || ask.toolsets.length === 0 ? [] : [{ type: 'computer' as const }]),
    ...ask.tools.map((tool) => ({
      type: 'function' as const,
      name: wireName(tool.name),
      description: tool.description,
      parameters: { ...tool.inputSchema },
      strict: false,
    })),
  ];
  const stream = await client.responses.create(
    {
      model: ask.model,
      instructions: ask.system,
      input: inputOf(ask.messages),
      tools,
      max_output_tokens: ask.maxOutputTokens,
      truncation: 'auto',
      store: false,
      include: ['reasoning.encrypted_content'],
      stream: true,
    },
    { signal: ask.signal },
  );
  return read(stream, ask);
};

function inputOf(messages: readonly Message[]): ResponseInputItem[] {
  const left = new Set(
    messages.flatMap((message) =>
      message.role === 'tools' ? message.results.filter(unacknowledged).map((result) => result.callId) : [],
    ),
  );
  return messages.flatMap((message): ResponseInputItem[] => {
    if (message.role === 'user') return [{ role: 'user', content: message.text }];
    if (message.role === 'tools') {
      const outputs = message.results.filter((result) => !left.has(result.callId)).map(outputOf);
      // Outputs first: text in between would part a call from its output.
      const withdrawn = message.results.filter((result) => left.has(result.callId)).flatMap(said);
      return [...outputs.flatMap(([output]) => output ?? []), ...outputs.flatMap((all) => all.slice(1)), ...withdrawn];
    }
    if (message.native?.wire === 'openai') return without(message.native.content as ResponseOutputItem[], left);
    return message.text === '' ? [] : [{ role: 'assistant', content: message.text }];
  });
}

type Result = Extract<Message, { role: 'tools' }>['results'][number];

function outputOf(result: Result): ResponseInputItem[] {
  if (result.toolset === openAiToolset) return computerOutput(result);
  const text = result.isError ? `Error: ${result.text}` : result.text;
  const pictures = (result.pictures ?? []).map((picture) => ({
    type: 'input_image' as const,
    image_url: dataUrl(picture),
    detail: 'auto' as const,
  }));
  const output = pictures.length === 0 ? text : [{ type: 'input_text' as const, text }, ...pictures];
  return [{ type: 'function_call_output', call_id: result.callId, output }];
}

/** Without these calls, and without the reasoning that led to nothing else. */
function without(items: readonly ResponseOutputItem[], calls: ReadonlySet<string>): ResponseInputItem[] {
  return items.filter((item, index) => {
    const led = item.type === 'reasoning' ? items[index + 1] : item;
    return led?.type !== 'computer_call' || !calls.has(led.call_id);
  }) as ResponseInputItem[];
}

const faults: Readonly<Record<string, FaultKind>> = {
  rate_limit_exceeded: 'limit',
  server_error: 'overloaded',
};

async function read(stream: AsyncIterable<ResponseStreamEvent>, ask: Ask): Promise<Answer> {
  let begun = false;
  let whole: Response | null = null;
  for await (const event of stream) {
    if (!begun && typeof event?.type === 'string' && event.type.startsWith('response.')) {
      begun = true;
      ask.onStart();
    }
    if (event.type === 'response.completed' || event.type === 'response.incomplete') whole = event.response;
    if (event.type === 'response.failed') throw failed(event.response.error?.code, event.response.error?.message);
    if (event.type === 'error') throw failed(event.code, event.message);
  }
  if (!begun)
    throw new ModelFault('garbage', 'The server answered without a response: it does not speak this protocol.');
  if (whole === null) throw new ModelFault('cut', 'The answer broke off partway.');

  const calls: ToolCall[] = [];
  let text = '';
  let refused = whole.incomplete_details?.reason === 'content_filter';
  for (const item of whole.output) {
    if (item.type === 'message') {
      for (const part of item.content) {
        refused ||= part.type === 'refusal';
        text += part.type === 'refusal' ? part.refusal : part.text;
      }
    } else if (item.type === 'function_call') {
      calls.push({ id: item.call_id, name: offeredName(ask.tools, item.name), ...parseInput(item.arguments) });
    } else if (item.type === 'computer_call') {
      calls.push({ id: item.call_id, name: openAiToolset, input: item, toolset: openAiToolset });
    }
  }
  const cut = whole.status === 'incomplete';
  const stop = refused ? 'refusal' : cut ? 'length' : calls.length > 0 ? 'tools' : 'end';
  return { text, calls, stop, usage: usageOf(whole), native: whole.output };
}

function failed(code: string | null | undefined, message: string | undefined): ModelFault {
  return new ModelFault(
    faults[code ?? ''] ?? 'invalid',
    `The service ended the answer: ${message ?? code ?? 'no reason'}.`,
  );
}

function usageOf({ usage }: Response): Usage | null {
  if (!usage) return null;
  const cached = usage.input_tokens_details?.cached_tokens ?? 0;
  return {
    input: Math.max(0, usage.input_tokens - cached),
    cachedInput: cached,
    cacheWrite: 0,
    output: usage.output_tokens,
  };
}
