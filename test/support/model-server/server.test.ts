import { afterEach, beforeEach, expect, test } from 'vitest';
import { inOrder, type ModelReply, text, tools, type WireName } from './script.ts';
import { type ModelServer, startModelServer } from './server.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.close());

interface Spoken {
  readonly status: number;
  readonly text: string;
  readonly calls: readonly { name: string; input: unknown }[];
  readonly end: unknown;
  readonly retryAfter: string | null;
}

/** A client for each wire, as small as the vendor's own documents describe it. */
const paths: Record<WireName, (stream: boolean) => string> = {
  anthropic: () => '/v1/messages',
  'openai-chat': () => '/v1/chat/completions',
  'openai-responses': () => '/v1/responses',
  gemini: (stream) => `/v1beta/models/m-1:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
};
const bodies: Record<WireName, (words: string) => object> = {
  anthropic: (words) => ({
    system: [{ type: 'text', text: 'Be kind.' }],
    messages: [{ role: 'user', content: words }],
    tools: [{ name: 'run' }],
  }),
  'openai-chat': (words) => ({
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: words },
    ],
    tools: [{ type: 'function', function: { name: 'run' } }],
  }),
  'openai-responses': (words) => ({
    instructions: 'Be kind.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: words }] }],
    tools: [{ type: 'function', name: 'run' }],
  }),
  gemini: (words) => ({
    systemInstruction: { parts: [{ text: 'Be kind.' }] },
    contents: [{ role: 'user', parts: [{ text: words }] }],
    tools: [{ functionDeclarations: [{ name: 'run' }] }],
  }),
};

// biome-ignore lint/suspicious/noExplicitAny: foreign wires, read loosely on purpose
type Loose = any;

/** What the answer says, folded from a whole body or from all stream events. */
function fold(wire: WireName, parts: Loose[]): Omit<Spoken, 'status' | 'retryAfter'> {
  let words = '';
  let end: unknown;
  const calls: { name: string; input: unknown }[] = [];
  const partial = new Map<number, { name: string; json: string }>();
  for (const part of parts) {
    if (wire === 'anthropic') {
      for (const block of part.type === 'message' ? part.content : []) {
        if (block.type === 'text') words += block.text;
        else calls.push({ name: block.name, input: block.input });
      }
      if (part.type === 'content_block_start' && part.content_block.type === 'tool_use')
        partial.set(part.index, { name: part.content_block.name, json: '' });
      if (part.delta?.type === 'text_delta') words += part.delta.text;
      if (part.delta?.type === 'input_json_delta') partial.get(part.index)!.json += part.delta.partial_json;
      end = part.delta?.stop_reason ?? (part.type === 'message' ? part.stop_reason : end);
    } else if (wire === 'openai-chat') {
      for (const choice of part.choices ?? []) {
        const said = choice.message ?? choice.delta;
        words += said.content ?? said.refusal ?? '';
        for (const call of said.tool_calls ?? [])
          calls.push({ name: call.function.name, input: JSON.parse(call.function.arguments) });
        end = choice.finish_reason ?? end;
      }
    } else if (wire === 'openai-responses') {
      if (/(output_text|refusal)\.delta$/.test(part.type ?? '')) words += part.delta;
      const whole = part.type === 'response.completed' ? part.response : part.object === 'response' ? part : null;
      if (!whole) continue;
      end = whole.status;
      for (const item of whole.output) {
        if (item.type === 'function_call') calls.push({ name: item.name, input: JSON.parse(item.arguments) });
        else if (part.object === 'response') words += item.content[0].text ?? item.content[0].refusal;
      }
    } else {
      const [candidate] = part.candidates ?? [];
      for (const piece of candidate?.content.parts ?? []) {
        words += piece.text ?? '';
        if (piece.functionCall) calls.push({ name: piece.functionCall.name, input: piece.functionCall.args });
      }
      end = candidate?.finishReason ?? end;
    }
  }
  for (const { name, json } of partial.values()) calls.push({ name, input: JSON.parse(json) });
  return { text: words, calls, end };
}

async function ask(wire: WireName, words: string, stream: boolean): Promise<Spoken> {
  const response = await fetch(server.url + paths[wire](stream), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm-1', stream, ...bodies[wire](words) }),
  });
  const body = await response.text();
  const parts =
    stream && response.ok
      ? body.split('\n\n').flatMap((event) => {
          const data = /^data: (.*)$/m.exec(event)?.[1];
          return data === undefined || data === '[DONE]' ? [] : [JSON.parse(data)];
        })
      : [JSON.parse(body)];
  return { status: response.status, retryAfter: response.headers.get('retry-after'), ...fold(wire, parts) };
}

const wires = Object.keys(paths) as WireName[];
const both = wires.flatMap((wire) => [[wire, true] as const, [wire, false] as const]);

test.each(both)('%s, stream %s: text, then tool calls, then a refusal, as scripted', async (wire, stream) => {
  server.script(
    inOrder(text('Hällo world'), tools({ name: 'run', input: { a: [1, 'x'] } }), { kind: 'refusal', text: 'No.' }),
  );
  expect(await ask(wire, 'one', stream)).toMatchObject({ status: 200, text: 'Hällo world', calls: [] });
  expect(await ask(wire, 'two', stream)).toMatchObject({ calls: [{ name: 'run', input: { a: [1, 'x'] } }] });
  expect(await ask(wire, 'three', stream)).toMatchObject({ text: 'No.' });
});

test.each(wires)('%s: what was asked is read in the same words', async (wire) => {
  await ask(wire, 'hello', true);
  expect(server.requests).toMatchObject([
    { wire, model: 'm-1', stream: true, system: 'Be kind.', lastUser: 'hello', tools: ['run'], toolResults: [] },
  ]);
});

test.each([
  ['anthropic', 529, 529],
  ['openai-chat', 529, 503],
  ['openai-responses', 529, 503],
  ['gemini', 529, 503],
  ['anthropic', 429, 429],
  ['openai-chat', 429, 429],
  ['openai-responses', 429, 429],
  ['gemini', 429, 429],
] as const)('%s: %i is answered as %i with the time to wait', async (wire, asked, status) => {
  server.script(() => ({ kind: 'error', status: asked, message: 'slow down', retryAfter: 7 }));
  expect(await ask(wire, 'hello', true)).toMatchObject({ status, retryAfter: '7' });
});

test.each(wires)('%s: a cut stream ends in the middle, after words that can be read', async (wire) => {
  const reply: ModelReply = { kind: 'cut', text: 'one two three four five six' };
  server.script(() => reply);
  const response = await fetch(server.url + paths[wire](true), {
    method: 'POST',
    body: JSON.stringify({ model: 'm-1', stream: true, ...bodies[wire]('hello') }),
  });
  let got = '';
  const read = async () => {
    for await (const piece of response.body ?? []) got += Buffer.from(piece).toString();
  };
  await expect(read()).rejects.toThrow();
  expect(got).toContain('one');
  expect(got).not.toContain('six');
});

test('results of tools are read with their call ids, also behind a prompt of a person', async () => {
  const post = (path: string, body: object) =>
    fetch(server.url + path, { method: 'POST', body: JSON.stringify({ model: 'm', ...body }) });
  await post('/v1/messages', {
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'run', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'done' }] },
      { role: 'system', content: 'by the way' },
    ],
  });
  await post('/v1/chat/completions', {
    messages: [
      { role: 'assistant', content: null },
      { role: 'tool', tool_call_id: 't1', content: 'done' },
    ],
  });
  await post('/v1/responses', {
    input: [
      { type: 'function_call', call_id: 't1' },
      { type: 'function_call_output', call_id: 't1', output: 'done' },
    ],
  });
  for (const request of server.requests) {
    expect(request).toMatchObject({ lastUser: '', toolResults: [{ callId: 't1', text: 'done' }] });
  }
  expect(server.requests).toHaveLength(3);
});

test('a path of no wire is remembered, so that a test can say what else was asked', async () => {
  await fetch(`${server.url}/v1/elsewhere`, { method: 'POST', body: '{}' });
  expect(server.unknown).toEqual(['POST /v1/elsewhere']);
});
