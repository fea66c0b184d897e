/** Gemini (`POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent?alt=sse`): candidates of parts. */
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

const pathPattern = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 };

function answer(parts: readonly Json[], model: string, id: string, finishReason?: string): Json {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
    usageMetadata,
    modelVersion: model,
    responseId: id,
  };
}

function callParts(reply: SpokenReply, id: string): Json[] {
  return spoken(reply).calls.map(({ name, input }, index) => ({
    functionCall: { id: `call_${id}_${index}`, name, args: input },
  }));
}

const finish = (reply: SpokenReply) =>
  reply.kind === 'refusal' ? 'SAFETY' : reply.kind === 'length' ? 'MAX_TOKENS' : 'STOP';
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

export const gemini: Wire = {
  name: 'gemini',
  match(path) {
    const match = pathPattern.exec(path);
    return match ? { model: match[1] ?? '', stream: match[2] === 'streamGenerateContent' } : null;
  },
  read(body) {
    const contents = list(body.contents);
    const parts = list(contents.at(-1)?.parts);
    const system = isJson(body.systemInstruction) ? body.systemInstruction : {};
    return {
      system: contentText(system.parts),
      lastUser: contents.at(-1)?.role === 'model' ? '' : contentText(parts),
      tools: list(body.tools).flatMap((tool) => [
        ...(isJson(tool.computerUse) ? [`computerUse ${tool.computerUse.environment}`] : []),
        ...list(tool.functionDeclarations).map(({ name }) => String(name)),
      ]),
      toolResults: parts.flatMap(({ functionResponse }) =>
        isJson(functionResponse)
          ? [
              {
                callId: String(functionResponse.id ?? functionResponse.name),
                text: JSON.stringify(functionResponse.response),
              },
            ]
          : [],
      ),
      pictures: countOf(contents, 'inlineData'),
      depth: contents.length,
    };
  },
  whole(reply, model, id) {
    const { words } = spoken(reply);
    return answer([...(words === '' ? [] : [{ text: words }]), ...callParts(reply, id)], model, id, finish(reply));
  },
  events(reply, model, id) {
    const { words, pieces, pauseMs } = spoken(reply);
    const parts = [
      ...(words === '' ? [] : inPieces(words, pieces).map((piece): Json[] => [{ text: piece }])),
      ...(spoken(reply).calls.length > 0 ? [callParts(reply, id)] : []),
    ];
    // An answer without a word still has an end.
    return (parts.length === 0 ? [[]] : parts).map(
      (part, index): StreamEvent => ({
        data: answer(part, model, id, index >= parts.length - 1 ? finish(reply) : undefined),
        pauseMs,
        ...(index === 0 && { cutAfter: true as const }),
      }),
    );
  },
  error(status, message, retryAfter) {
    const code = status === 529 ? 503 : status;
    const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` };
    const details = retryAfter === undefined ? {} : { details: [info] };
    return { status: code, body: { error: { code, message, status: statusNames[code] ?? 'UNKNOWN', ...details } } };
  },
};
