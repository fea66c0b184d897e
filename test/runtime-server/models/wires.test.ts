/** The three wires as the vendors' own SDKs speak them: what is said arrives whole, and every way to fail has its name. */
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { createModels, type Models } from '../../../src/runtime-server/models/index.ts';
import type { TurnEnd, TurnHooks } from '../../../src/runtime-server/models/loop.ts';
import type { Message, ToolCall, Usage } from '../../../src/runtime-server/models/model.ts';
import { type ModelReply, type ModelRequest, type Script, text, tools } from '../../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../../support/model-server/server.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.close());

const key = 'sk-very-secret-000';
const names = { anthropic: 'claude-x', openai: 'gpt-x', google: 'gemini-x' } as const;
type Vendor = keyof typeof names;
const vendors = Object.keys(names) as Vendor[];
const quick: Timers = { after: (ms, effect) => systemTimers.after(ms < 6000 ? ms / 50 : ms, effect) };

function modelsAt(url: string): Models {
  return createModels({
    env: {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      GEMINI_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: url,
    },
    clock: systemClock,
    timers: quick,
    random: () => 0,
  });
}

interface Seen {
  end: TurnEnd;
  started: number;
  answered: { message: Message; usage: Usage }[];
  called: ToolCall[];
  waited: (string | null)[];
  requests: ModelRequest[];
}

async function run(
  vendor: Vendor,
  script: Script,
  more: { url?: string; limits?: Partial<Models['limits']>; messages?: Message[]; signal?: AbortSignal } = {},
): Promise<Seen> {
  server.script(script);
  const before = server.requests.length;
  const models = modelsAt(more.url ?? server.url);
  const found = models.find(names[vendor]);
  if (!('target' in found)) throw new Error(found.problem.fact);
  const seen: Seen = { end: null as never, started: 0, answered: [], called: [], waited: [], requests: [] };
  const hooks: TurnHooks = {
    started: () => {
      seen.started += 1;
    },
    answered: async (message, usage) => {
      seen.answered.push({ message, usage });
      return 1000;
    },
    call: async (call) => {
      seen.called.push(call);
      return { callId: call.id, name: call.name, text: `result of ${JSON.stringify(call.input)}`, isError: false };
    },
    result: async () => {},
    waiting: (reason) => void seen.waited.push(reason),
    idleMs: () => 0,
  };
  seen.end = await models.run(
    found.target,
    {
      system: 'Be exact.',
      messages: more.messages ?? [{ role: 'user', text: 'Go.' }],
      tools: [
        {
          name: 'file.read',
          description: 'Reads.',
          inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
        },
      ],
      maxOutputTokens: 1000,
      limits: { ...models.limits, ...more.limits },
      used: { steps: 0, tokens: 0, activeMs: 0, microUsd: 0 },
      signal: more.signal ?? new AbortController().signal,
    },
    hooks,
  );
  seen.requests = server.requests.slice(before);
  return seen;
}

const replies = (...list: ModelReply[]): Script => {
  let next = 0;
  return () => list[Math.min(next++, list.length - 1)] as ModelReply;
};
const call = { name: 'file_read', input: { path: 'a/ö.txt' } };

test.each(vendors)(
  '%s: two calls at once come back by their names with their inputs, and their results reach the model',
  async (vendor) => {
    const seen = await run(
      vendor,
      replies(tools(call, { name: 'file_read', input: { path: 'b' } }), text('Dóne, whole.')),
    );
    expect(seen.end).toMatchObject({ how: 'done', text: 'Dóne, whole.', reason: null });
    expect(seen.called).toMatchObject([
      { name: 'file.read', input: { path: 'a/ö.txt' } },
      { name: 'file.read', input: { path: 'b' } },
    ]);
    expect(new Set(seen.called.map((one) => one.id)).size).toBe(2);
    expect(seen.requests).toMatchObject([
      { system: 'Be exact.', lastUser: 'Go.', tools: ['file_read'], stream: true, toolResults: [] },
      { toolResults: [{ text: expect.stringContaining('a/ö.txt') }, { text: expect.stringContaining('"b') }] },
    ]);
    expect(seen.answered.map((one) => one.usage)).toMatchObject([
      { input: 10, output: 20 },
      { input: 10, output: 20 },
    ]);
    expect(seen.end.used).toMatchObject({ steps: 2, tokens: 60, microUsd: 2000 });
    expect(JSON.stringify(seen.requests[0]?.headers)).toContain(key);
  },
);

test.each(vendors)('%s: a conversation of another vendor goes on here', async (vendor) => {
  const native = {
    wire: vendor === 'google' ? ('anthropic' as const) : ('google' as const),
    content: [{ type: 'thinking', thinking: '…', signature: 'x' }],
  };
  const messages: Message[] = [
    { role: 'user', text: 'One.' },
    { role: 'assistant', text: 'Reading.', calls: [{ id: 'c1', name: 'file.read', input: { path: 'x' } }], native },
    { role: 'tools', results: [{ callId: 'c1', name: 'file.read', text: 'x is 1', isError: false }] },
    { role: 'assistant', text: '', calls: [] },
    { role: 'user', text: 'Two.' },
  ];
  const seen = await run(vendor, replies(text('Two it is.')), { messages });
  expect(seen.end.how).toBe('done');
  expect(JSON.stringify(seen.requests[0]?.body)).not.toContain('thinking');
  expect(seen.requests[0]?.lastUser).toContain('Two.');
});

test.each(vendors)(
  '%s: a refusal and an answer cut at its length end the turn, and no call of theirs is carried out',
  async (vendor) => {
    const refused = await run(vendor, replies({ kind: 'refusal', text: 'I will not.' }));
    expect(refused.end).toMatchObject({ how: 'refused', text: 'I will not.' });
    const cut = await run(vendor, replies({ kind: 'length', text: 'Let me', calls: [call] }));
    expect(cut.end).toMatchObject({ how: 'limit', reason: expect.stringContaining('cut off at its maximum length') });
    expect(cut.called).toEqual([]);
    expect(cut.answered[0]?.message).toMatchObject({ calls: [] });
  },
);

test.each(vendors)(
  '%s: a stream that breaks is asked for again, and nothing of the broken one is carried out',
  async (vendor) => {
    const healed = await run(vendor, replies({ kind: 'cut', text: 'one two three four' }, text('whole')));
    expect(healed.end).toMatchObject({ how: 'done', text: 'whole' });
    expect(healed.waited).toEqual([expect.stringContaining('broke off'), null]);
    const broken = await run(vendor, replies({ kind: 'cut', text: 'one two three four' }));
    expect(broken.end).toMatchObject({ how: 'fault', fault: { kind: 'cut' } });
    expect(broken.requests).toHaveLength(3);
    expect(broken.answered).toEqual([]);
  },
);

test.each(vendors)('%s: a limit says when it ends and is not tried again by itself', async (vendor) => {
  const now = Date.now();
  const seen = await run(vendor, replies({ kind: 'error', status: 429, message: 'slow down', retryAfter: 77 }));
  expect(seen.end).toMatchObject({ how: 'fault', fault: { kind: 'limit' } });
  expect(seen.end.reason).toContain('slow down');
  expect(seen.requests).toHaveLength(1);
  expect(seen.end.fault?.retryAt).toBeGreaterThanOrEqual(now + 76_000);
  expect(seen.end.fault?.retryAt).toBeLessThan(Date.now() + 78_000);
});

test.each(vendors)('%s: an overloaded service is tried three times, no more', async (vendor) => {
  const seen = await run(vendor, replies({ kind: 'error', status: 529, message: 'overloaded' }));
  expect(seen.end).toMatchObject({ how: 'fault', fault: { kind: 'overloaded' } });
  expect(seen.requests).toHaveLength(3);
  const healed = await run(vendor, replies({ kind: 'error', status: 529 }, text('back')));
  expect(healed.end).toMatchObject({ how: 'done', text: 'back' });
});

const named = [
  [401, 'key'],
  [403, 'key'],
  [404, 'unknown_model'],
  [400, 'invalid'],
] as const;
test.each(vendors.flatMap((vendor) => named.map(([status, kind]) => [vendor, status, kind] as const)))(
  '%s: status %i is %s, at once, without the key in its words',
  async (vendor, status, kind) => {
    const seen = await run(vendor, replies({ kind: 'error', status, message: `bad key ${key} here` }));
    expect(seen.end).toMatchObject({ how: 'fault', fault: { kind } });
    expect(seen.requests).toHaveLength(1);
    expect(seen.end.reason).toMatch(/here\.$/);
    // The sentence of the service, not the document around it.
    expect(seen.end.reason).not.toContain('{');
    expect(seen.end.reason).not.toContain(key);
  },
);

const garbage = [
  ['a page', '<html><body>Sign in</body></html>', 'text/html'],
  ['an empty stream', '', 'text/event-stream'],
  ['a stream of something else', 'data: {"hello":1}\n\ndata: [DONE]\n\n', 'text/event-stream'],
  ['a stream that is no JSON', 'data: {"hel\n\n', 'text/event-stream'],
  ['JSON of something else', '{"ok":true}', 'application/json'],
] as const;
test.each(vendors.flatMap((vendor) => garbage.map(([what, body, type]) => [vendor, what, body, type] as const)))(
  '%s: %s is called what it is, after three tries',
  async (vendor, _what, body, type) => {
    const seen = await run(vendor, replies({ kind: 'garbage', body, type }));
    expect(seen.end).toMatchObject({ how: 'fault', fault: { kind: 'garbage' } });
    expect(seen.requests).toHaveLength(3);
    expect(seen.started).toBe(0);
  },
);

const unended: Record<Vendor, string> = {
  anthropic: `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } })}\n\nevent: content_block_start\ndata: ${JSON.stringify({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'file_read', input: {} } })}\n\n`,
  openai: `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 't', function: { name: 'file_read', arguments: '{"pa' } }] }, finish_reason: null }] })}\n\n`,
  google: `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ functionCall: { name: 'file_read', args: {} } }] } }] })}\n\n`,
};
test.each(vendors)(
  '%s: a stream that ends in good order but without its end mark is cut: its call is not carried out',
  async (vendor) => {
    const seen = await run(vendor, replies({ kind: 'garbage', body: unended[vendor], type: 'text/event-stream' }));
    expect(seen.end).toMatchObject({ how: 'fault', fault: { kind: 'cut' } });
    expect(seen.called).toEqual([]);
  },
);

test.each(vendors)('%s: nobody there is said with the reason', async (vendor) => {
  const gone = createServer();
  const port = await new Promise<number>((resolve) =>
    gone.listen(0, '127.0.0.1', () => resolve((gone.address() as { port: number }).port)),
  );
  await new Promise((resolve) => gone.close(resolve));
  const seen = await run(vendor, replies(text('x')), { url: `http://127.0.0.1:${port}` });
  expect(seen.end).toMatchObject({ how: 'fault', fault: { kind: 'unreachable' } });
  expect(seen.end.reason).toContain('ECONNREFUSED');
});

test.each(vendors)('%s: a stop ends the stream that is under way', async (vendor) => {
  const stop = new AbortController();
  const seen = run(vendor, () => ({ kind: 'text', text: 'slow '.repeat(50), pieces: 50, pauseMs: 100 }), {
    signal: stop.signal,
  });
  // While it answers: it takes five seconds.
  setTimeout(() => stop.abort(), 300);
  expect((await seen).end).toMatchObject({ how: 'stopped' });
  expect((await seen).answered).toEqual([]);
});

test('limits of steps, tokens, money and time each end the turn and say which it was', async () => {
  const endless = () => tools(call);
  expect((await run('anthropic', endless, { limits: { steps: 3 } })).end).toMatchObject({
    how: 'limit',
    reason: expect.stringContaining('3 steps'),
  });
  expect((await run('anthropic', endless, { limits: { tokens: 1000 } })).end.used.steps).toBe(34);
  expect((await run('anthropic', endless, { limits: { usd: 0.005 } })).end).toMatchObject({
    reason: expect.stringContaining('0.005 dollars'),
    used: { steps: 5 },
  });
  const slow = () => ({ kind: 'text' as const, text: 'slow '.repeat(50), pieces: 50, pauseMs: 200 });
  expect((await run('openai', slow, { limits: { minutes: 0.01 } })).end).toMatchObject({
    how: 'limit',
    reason: expect.stringContaining('0.01 minutes'),
  });
});
