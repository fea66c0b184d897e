/** Gemini over Google's SDK, which is loaded with the first request. Pure translation; no retries of its own. */
import type { Content, GenerateContentResponse, Part, Tool } from '@google/genai';
import type { AskWire } from './endpoints.ts';
import {
  type Answer,
  type Ask,
  type Message,
  ModelFault,
  offeredName,
  type ToolCall,
  type Usage,
  wireName,
} from './model.ts';
import { googleResponse, googleTool, googleToolset } from './toolsets/google.ts';

/** Ends that mean the model refuses. */
const refusals: readonly string[] = ['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'LANGUAGE'];
const malformed: readonly string[] = ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MALFORMED_RESPONSE'];

export const askGoogle: AskWire = async (target, ask) => {
  const { GoogleGenAI } = await import('@google/genai');
  const client = new GoogleGenAI({
    apiKey: target.key ?? 'none',
    // Never its other service, whatever the environment sets: the key was chosen for this one.
    vertexai: false,
    ...(target.baseUrl === null ? {} : { httpOptions: { baseUrl: target.baseUrl } }),
  });
  const stream = await client.models.generateContentStream({
    model: ask.model,
    contents: contentsOf(ask.messages),
    config: {
      systemInstruction: ask.system,
      abortSignal: ask.signal,
      automaticFunctionCalling: { disable: true },
      ...toolsOf(ask),
    },
  });
  return read(stream, ask);
};

function toolsOf({ tools, toolsets }: Ask): { tools?: Tool[] } {
  const functions = tools.map((tool) => ({
    name: wireName(tool.name),
    description: tool.description,
    parametersJsonSchema: tool.inputSchema,
  }));
  const all = [
    ...(toolsets === undefined || toolsets.length === 0 ? [] : [googleTool(toolsets)]),
    ...(functions.length === 0 ? [] : [{ functionDeclarations: functions }]),
  ];
  return all.length === 0 ? {} : { tools: all };
}

/** Ids that we gave ourselves, because the wire gave none, stay with us. */
const ownId = 'own:';

function contentsOf(messages: readonly Message[]): Content[] {
  return messages.flatMap((message): Content[] => {
    if (message.role === 'user') return [{ role: 'user', parts: [{ text: message.text }] }];
    if (message.role === 'tools') {
      const parts = message.results.map((result): Part => {
        const id = result.callId.startsWith(ownId) ? {} : { id: result.callId };
        const name = wireName(result.name);
        if (result.toolset !== undefined) return { functionResponse: { ...id, name, ...googleResponse(result) } };
        const response = result.isError ? { error: result.text } : { output: result.text };
        return { functionResponse: { ...id, name, response } };
      });
      const seen = message.results.flatMap(({ toolset, pictures = [] }) =>
        toolset === undefined
          ? pictures.map(({ mediaType, data }): Part => ({ inlineData: { mimeType: mediaType, data } }))
          : [],
      );
      return [{ role: 'user', parts: [...parts, ...seen] }];
    }
    const parts = message.native?.wire === 'google' ? (message.native.content as Part[]) : partsOf(message);
    return parts.length === 0 ? [] : [{ role: 'model', parts }];
  });
}

function partsOf(message: Extract<Message, { role: 'assistant' }>): Part[] {
  return [
    ...(message.text === '' ? [] : [{ text: message.text }]),
    ...message.calls.map((call) => ({
      functionCall: { name: wireName(call.name), args: (call.input ?? {}) as Record<string, unknown> },
    })),
  ];
}

async function read(stream: AsyncIterable<GenerateContentResponse>, ask: Ask): Promise<Answer> {
  const parts: Part[] = [];
  const calls: ToolCall[] = [];
  let begun = false;
  let usage: Usage | null = null;
  let reason: string | null = null;
  let blocked: string | null = null;
  for await (const chunk of stream) {
    const [candidate] = chunk.candidates ?? [];
    blocked = chunk.promptFeedback?.blockReason ?? blocked;
    if (candidate === undefined && blocked === null && chunk.usageMetadata === undefined) continue;
    if (!begun) {
      begun = true;
      ask.onStart();
    }
    const counted = chunk.usageMetadata;
    if (counted !== undefined) {
      const cached = counted.cachedContentTokenCount ?? 0;
      usage = {
        input: Math.max(0, (counted.promptTokenCount ?? 0) - cached),
        cachedInput: cached,
        cacheWrite: 0,
        output: (counted.candidatesTokenCount ?? 0) + (counted.thoughtsTokenCount ?? 0),
      };
    }
    for (const part of candidate?.content?.parts ?? []) {
      add(parts, part);
      if (part.functionCall === undefined) continue;
      const { id, name, args } = part.functionCall;
      const offered = offeredName(ask.tools, name ?? '');
      // A name that we did not offer can only be the vendor's own.
      const own = (ask.toolsets?.length ?? 0) > 0 && !ask.tools.some((tool) => tool.name === offered);
      calls.push({
        id: id ?? `${ownId}${ask.messages.length}_${calls.length}`,
        name: offered,
        input: args ?? {},
        ...(own && { toolset: googleToolset }),
      });
    }
    reason = candidate?.finishReason ?? reason;
  }
  if (!begun)
    throw new ModelFault('garbage', 'The server answered without a candidate: it does not speak this protocol.');
  const refused = blocked !== null || (reason !== null && refusals.includes(reason));
  if (reason === null && !refused) throw new ModelFault('cut', 'The answer broke off partway.');
  if (reason !== null && malformed.includes(reason)) {
    throw new ModelFault('garbage', `The model made an unreadable tool call (${reason}).`);
  }
  const text = parts.flatMap((part) => (part.text === undefined || part.thought === true ? [] : [part.text])).join('');
  const stop = refused ? 'refusal' : reason === 'MAX_TOKENS' ? 'length' : calls.length > 0 ? 'tools' : 'end';
  return { text, calls, stop, usage, native: parts };
}

/** Pieces of one text become one part; what carries a signature stays as it came. */
function add(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  const plain = (one: Part | undefined) =>
    one?.text !== undefined && one.thoughtSignature === undefined && one.functionCall === undefined;
  if (last !== undefined && plain(last) && plain(part) && last.thought === part.thought) {
    last.text = `${last.text ?? ''}${part.text ?? ''}`;
  } else if (part.text !== '' || part.thoughtSignature !== undefined) parts.push({ ...part });
}
