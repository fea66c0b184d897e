/**
 * A tool server without a transport, well or badly behaved like those of other vendors: it answers one message. Behaviours have names, so that a test
 * reads as what it checks.
 */
export type Json = Record<string, unknown>;
export interface Wire {
  send(message: Json): void;
  /** As it is: for what is no JSON-RPC. */
  raw(text: string): void;
  die(code: number): void;
}

const object = { type: 'object', properties: {}, additionalProperties: false };
const tool = (name: string, more: Json = {}): Json => ({
  name,
  description: `Does ${name}.`,
  inputSchema: object,
  ...more,
});

/** The tool list of each behaviour; behaviours not named here list these. */
const usual = [
  tool('echo', {
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  }),
  tool('wait'),
  tool('die'),
  tool('env'),
];

const prompts: Json[] = [
  {
    name: 'review code',
    title: 'Review',
    description: 'Reviews.',
    arguments: [
      { name: 'path', required: true },
      { name: 'how', description: 'In which way' },
    ],
  },
  { name: 'broken' },
  { title: 'It has no name.' },
];

const lists: Record<string, () => Json[]> = {
  many: () => Array.from({ length: 2000 }, (_, index) => tool(`tool_${index}`)),
  twice: () => [
    tool('echo', { description: 'The first.' }),
    tool('echo', { description: 'The second.' }),
    tool('fine'),
  ],
  underscored: () => [tool('b.echo'), tool('other')],
  odd: () => [
    tool('fine'),
    tool('with space'),
    tool('x'.repeat(70)),
    tool('out', { inputSchema: { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } } }),
    tool('web', { inputSchema: { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } } }),
    tool('number', { inputSchema: { type: 'number' } }),
    { description: 'It has no name.' },
    tool('old', {
      inputSchema: {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        definitions: { point: { type: 'array', items: [{ type: 'number' }, { type: 'number' }] } },
        properties: { at: { $ref: '#/definitions/point' }, n: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      },
    }),
  ],
  giant: () => [
    tool('fine'),
    tool('giant', {
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: 'string' }])),
      },
    }),
  ],
};

export function createBehaviour(kind: string, wire: Wire): (message: Json) => unknown {
  let listed = 0;
  let cancelled = 0;
  const ok = (id: unknown, result: Json) => wire.send({ jsonrpc: '2.0', id, result });
  const fail = (id: unknown, code: number, message: string) =>
    wire.send({ jsonrpc: '2.0', id, error: { code, message } });

  function list(id: unknown): void {
    if (kind === 'hangs-at-list') return;
    listed += 1;
    const tools = kind === 'grows' ? usual.slice(0, listed + 1) : (lists[kind]?.() ?? usual);
    ok(id, { tools: kind === 'shuffled' ? tools.map(backwards).reverse() : tools });
  }

  function call(id: unknown, name: unknown, args: Json): unknown {
    if (name === 'wait') return null;
    if (name === 'die') return wire.die(7);
    if (name === 'env') return ok(id, text(JSON.stringify({ ...process.env, cancelled })));
    if (kind === 'huge') {
      // In pieces, its id last, as the usual libraries write it.
      wire.raw('{"result":{"content":[{"type":"text","text":"');
      const piece = 'x'.repeat(1024 * 1024);
      for (let count = 0; count < 50; count += 1) wire.raw(piece);
      return wire.raw(`"}]},"jsonrpc":"2.0","id":${id}}\n`);
    }
    if (kind === 'pictures') {
      const data = 'A'.repeat(6 * 1024 * 1024);
      return ok(id, {
        content: [
          { type: 'image', mimeType: 'image/png', data },
          { type: 'text', text: 'beside it' },
        ],
      });
    }
    if (kind === 'blocks') {
      return ok(id, {
        content: [
          { type: 'text', text: 'before' },
          { type: 'chart', points: [1, 2], text: 'a chart' },
          { type: 'image', data: '### no base64 ###', mimeType: 'image/png' },
          { type: 'text', text: 'hinted', annotations: { audience: ['everybody'] } },
          null,
          { type: 'text', text: 'after' },
        ],
      });
    }
    if (kind === 'fails') return fail(id, -32000, `It cannot, with ${process.env.KEY ?? 'nothing'}`);
    return ok(id, text(`${name}: ${JSON.stringify(args)}`));
  }

  return (message) => {
    const { id, method } = message;
    const params = (message.params ?? {}) as Json;
    if (method === 'initialize') {
      if (kind === 'hangs-at-connect') return;
      if (kind === 'garbage') wire.raw('Welcome to my server!\n{"half": \n[1,2,3]\n');
      if (kind === 'floods') flood(wire);
      const capabilities = { tools: { listChanged: true }, ...(kind.startsWith('prompts') ? { prompts: {} } : {}) };
      return ok(id, { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: kind, version: '1.0.0' } });
    }
    if (method === 'server/discover' && (kind === 'hangs-at-connect' || kind === 'ignores-the-unknown')) return;
    if (method === 'server/discover' && kind === 'ends-at-the-unknown') return wire.die(1);
    if (method === 'tools/list') return list(id);
    if (method === 'prompts/list' && kind === 'prompts') return ok(id, { prompts });
    if (method === 'prompts/get' && kind === 'prompts') {
      if (params.name === 'broken') return fail(id, -32603, 'It cannot.');
      const content = { type: 'text', text: `Review ${JSON.stringify(params.arguments)}` };
      return ok(id, {
        description: 'A review.',
        messages: [
          { role: 'user', content },
          { role: 'assistant', content: { type: 'hologram' } },
        ],
      });
    }
    if (method === 'tools/call') {
      call(id, params.name, (params.arguments ?? {}) as Json);
      if (kind === 'grows') wire.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      return;
    }
    if (method === 'notifications/cancelled') cancelled += 1;
    if (method === 'ping') return ok(id, {});
    if (id !== undefined) fail(id, -32601, 'Method not found');
  };
}

const backwards = (given: Json): Json => Object.fromEntries(Object.entries(given).reverse());
const text = (value: string): Json => ({ content: [{ type: 'text', text: value }] });

function flood(wire: Wire): void {
  const line = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x' },
  });
  const some = `${line}\n`.repeat(100);
  setInterval(() => {
    for (let count = 0; count < 50; count += 1) wire.raw(some);
  }, 10).unref();
}
