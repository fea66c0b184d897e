import { expect, test } from 'vitest';
import { createBridge, type Reply } from '../../../src/cli/tools/bridge.ts';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { mcpHeaders, mcpMeta, modernVersion } from '../../../src/contracts/tool-server/mcp.ts';

interface Posted {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

function start(reply: (posted: Posted, signal: AbortSignal) => Reply | Promise<Reply>) {
  const posted: Posted[] = [];
  const written: string[] = [];
  const bridge = createBridge({
    async post(body, headers, signal) {
      posted.push({ body, headers });
      return reply({ body, headers }, signal);
    },
    write: (line) => void written.push(line),
  });
  return { bridge, posted, written };
}

const result = (id: unknown, value: object = {}): Reply => ({
  status: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id, result: value }),
});
const request = (id: unknown, method: string, params?: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

test('a line is posted as it came and its answer written as it came', async () => {
  const { bridge, posted, written } = start(() => result(1, { tools: [] }));
  const line = '{ "jsonrpc":"2.0","id":1,   "method":"tools/list"}';
  await bridge.take(line);
  await bridge.take('   ');
  expect(posted.map(({ body }) => body)).toEqual([line]);
  expect(written).toEqual([result(1, { tools: [] }).text]);
});

test('each later request says the version that the handshake agreed on, a modern one its own', async () => {
  const { bridge, posted } = start(({ body }) => {
    const { id } = JSON.parse(body) as { id: number };
    return result(id, { protocolVersion: '2025-06-18' });
  });
  await bridge.take(request(1, 'initialize', { protocolVersion: '2099-01-01' }));
  await bridge.take(request(2, 'ping'));
  await bridge.take(request(3, 'server/discover', { _meta: { [mcpMeta.version]: modernVersion } }));
  const versions = posted.map(({ headers }) => headers[mcpHeaders.version]);
  expect(versions).toEqual([undefined, '2025-06-18', modernVersion]);
});

test('a notification is answered by nothing, whatever the server said', async () => {
  const { bridge, written } = start(() => ({ status: 202, text: '' }));
  await bridge.take('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  expect(written).toEqual([]);
});

test('a cancelled request is left and answered by nothing', async () => {
  const { bridge, written } = start(({ body }, signal) => {
    if (body.includes('cancelled')) return { status: 202, text: '' };
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('left'))));
  });
  const call = bridge.take(request('a', 'tools/call', { name: 'x' }));
  await bridge.take('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}');
  await call;
  expect(written).toEqual([]);
});

test('what fails before the message is read becomes the answer of its request', async () => {
  const refused = { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'The credential is not valid here.' } };
  const replies: (() => Reply)[] = [
    () => ({ status: 401, text: JSON.stringify(refused, null, 2) }),
    () => ({ status: 502, text: '<html>' }),
    () => {
      throw new AppError('transport', 'Gantry is not running.', 'Start it.');
    },
  ];
  const { bridge, written } = start(() => replies.shift()!());
  for (const id of [7, 'eight', 9]) await bridge.take(request(id, 'ping'));
  const said = written.map((line) => JSON.parse(line) as { id: unknown; error: { message: string } });
  expect(said.map(({ id, error }) => [id, error.message])).toEqual([
    [7, 'The credential is not valid here.'],
    ['eight', 'The server answered with HTTP 502.'],
    [9, 'Gantry is not running. Start it.'],
  ]);
  expect(written.join('')).not.toContain('\n');
});

test('a line that is no JSON is left to the server, which answers without an id', async () => {
  const parse = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } };
  const { bridge, posted, written } = start(() => ({ status: 400, text: JSON.stringify(parse) }));
  await bridge.take('{"jsonrpc":');
  expect([posted.length, written]).toEqual([1, [JSON.stringify(parse)]]);
});
