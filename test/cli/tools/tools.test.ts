import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { AttachedServer } from '../../../src/contracts/tool-server/servers.ts';
import type { ToolInfo } from '../../../src/contracts/tool-server/tools.ts';
import { onEnd, run, type Seen, startEngine } from '../support.ts';

const tools: ToolInfo[] = [
  {
    name: 'file.read',
    description: 'Reads a file.',
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, limit: { type: 'integer' }, tags: { type: 'array' } },
    },
    annotations: { readOnlyHint: true },
    server: null,
  },
  { name: 'issues.list', inputSchema: { type: 'object' }, server: 'issues' },
];

const attached: AttachedServer = {
  id: 'server_1',
  name: 'issues',
  transport: { type: 'http', url: 'https://mcp.example/mcp' },
  enabled: true,
  timeoutMs: 60_000,
  status: 'needs_reauth',
  error: 'It asks for a sign-in.',
  authorizeUrl: 'https://as.example/authorize',
  toolCount: 2,
  problems: [],
  pid: null,
  lastListedAt: null,
  createdAt: '2026-01-02T03:00:00.000Z',
  updatedAt: '2026-01-02T03:00:00.000Z',
};

const connected: AttachedServer = { ...attached, status: 'connected', error: null, authorizeUrl: null };

const ok = (text: string) => ({ content: [{ type: 'text', text }], isError: false });
type Answers = NonNullable<Parameters<typeof startEngine>[0]>['answers'];
async function start(answers: Answers = {}) {
  const engine = await startEngine({
    answers: {
      listTools: () => ({ tools }),
      readTool: ({ params }) => tools.find(({ name }) => name === params.name),
      listAttachedServers: () => ({ servers: [attached] }),
      ...answers,
    },
  });
  const called = (op: string): Seen | undefined => engine.seen.findLast((seen) => seen.op === op);
  return { called, tools: (...argv: string[]) => run(engine.env, ['tools', ...argv]), env: engine.env };
}

test('tools are listed, all or those of one server', async () => {
  const { tools: gantry } = await start();
  expect((await gantry('ls')).out).toMatch(/file\.read\s+-\s+Reads a file\./);
  const one = (await gantry('ls', '--server', 'issues', '--json')).json() as { tools: ToolInfo[] };
  expect(one.tools.map(({ name }) => name)).toEqual(['issues.list']);
  expect((await gantry('ls', 'issues')).out).not.toContain('file.read');
  expect((await gantry('ls', 'issues')).out).toContain('issues.list');
  expect((await gantry('show', 'file.read')).out).toMatch(/read-only[\s\S]*"path"/);
});

test('arguments are given as JSON, as name=value after the tool’s schema, or from stdin', async () => {
  const { tools: gantry, called, env } = await start({ callTool: () => ok('done') });
  const given = () => (called('callTool')!.body as { arguments: unknown }).arguments;
  expect((await gantry('call', 'file.read', 'path=12', 'limit=3', 'tags=a', 'tags=b', 'note={"x":1}')).out).toBe(
    'done\n',
  );
  expect(given()).toEqual({ path: '12', limit: 3, tags: ['a', 'b'], note: { x: 1 } });
  await gantry('call', 'file.read', '--args', '{"path":"a=b"}');
  expect(given()).toEqual({ path: 'a=b' });
  await run(env, ['tools', 'call', 'file.read', '--args', '-'], '{"path":"from stdin"}');
  expect(given()).toEqual({ path: 'from stdin' });
  await gantry('call', 'file.read');
  expect(given()).toEqual({});
  for (const wrong of [['path'], ['=x'], ['--args', '[1]'], ['--args', '{'], ['path=a', '--args', '{}']]) {
    const ran = await gantry('call', 'file.read', ...wrong);
    expect([wrong, ran.code]).toEqual([wrong, 64]);
  }
});

test('each end of a call has its exit code', async () => {
  let answer: () => unknown = () => ok('');
  const { tools: gantry } = await start({ callTool: () => answer() });
  const ends: [() => unknown, number, RegExp][] = [
    [() => ok('fine'), 0, /^fine\n$/],
    [() => ({ ...ok('The file is not there.'), isError: true }), 1, /not there/],
    [() => ({ ...ok('The box does not take this: a cat.'), isError: true }), 1, /a cat/],
    [() => ({ ...ok('file.read does not take this: path is missing.'), isError: true }), 64, /path is missing/],
    [
      () => {
        const options = { wireCode: 'tool_not_found' } as const;
        throw new AppError('not_found', 'There is no tool "x".', 'See GET /api/v1/tools.', options);
      },
      2,
      /no tool "file\.read"\.\nList the tools: .*gantry tools ls\n$/,
    ],
    [
      () => {
        throw new AppError('not_found', 'There is no tool "x".', 'List them.');
      },
      2,
      /no tool/,
    ],
    [
      () => {
        throw new AppError('transport', 'It is away.', '', { wireCode: 'computer_unavailable' });
      },
      3,
      /away/,
    ],
    [
      () => {
        throw new AppError('timeout', 'The server took too long.', '');
      },
      4,
      /too long/,
    ],
    [
      () => {
        const extra = { approvalId: 'approval_1' };
        const options = { status: 409, wireCode: 'approval_required', extra } as const;
        throw new AppError('refused', 'A person must allow shell.exec.', 'Ask.', options);
      },
      5,
      /workspace approve approval_1/,
    ],
  ];
  for (const [next, code, said] of ends) {
    answer = next;
    const ran = await gantry('call', 'file.read');
    expect([ran.code, ran.out + ran.err]).toEqual([code, expect.stringMatching(said)]);
    const json = await gantry('call', 'file.read', '--json');
    expect([json.code, Object.keys(json.json()).length > 0]).toEqual([code, true]);
  }
});

test('what a tool answers cannot act on the terminal, and what is no text is named', async () => {
  const image = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(300).toString('base64') };
  const { tools: gantry } = await start({
    callTool: () => ({ content: [...ok('\x1b[2Jwiped').content, image], isError: false }),
  });
  const { out } = await gantry('call', 'file.read');
  expect(out).not.toContain('\x1b');
  expect(out).toContain('[image image/png, 300 bytes]');
});

test('servers are attached as programs or addresses, their secrets from the environment where one wants', async () => {
  const { tools: gantry, called, env } = await start({ attachServer: () => connected });
  const body = () => called('attachServer')?.body;
  await run({ ...env, API_KEY: 'from here' }, [
    ...['tools', 'servers', 'attach', 'files', '--env', 'API_KEY', 'MODE=fast', '--timeout', '5'],
    ...['--', 'npx', '-y', 'server', '--root', '.'],
  ]);
  expect(body()).toEqual({
    name: 'files',
    transport: {
      type: 'stdio',
      command: 'npx',
      args: ['-y', 'server', '--root', '.'],
      env: { API_KEY: 'from here', MODE: 'fast' },
    },
    timeoutMs: 5000,
  });
  await gantry(
    'servers',
    'attach',
    'issues',
    '--url',
    'https://mcp.example/mcp',
    '--header',
    'Authorization: Bearer x',
  );
  expect(body()).toEqual({
    name: 'issues',
    transport: { type: 'http', url: 'https://mcp.example/mcp', headers: { Authorization: 'Bearer x' } },
  });
  await gantry('servers', 'attach', 'wiki', 'HTTP://127.0.0.1:1/mcp', '--header', 'X-Key: k');
  expect(body()).toEqual({
    name: 'wiki',
    transport: { type: 'http', url: 'HTTP://127.0.0.1:1/mcp', headers: { 'X-Key': 'k' } },
  });
  for (const wrong of [
    ['attach', 'files'],
    ['attach', 'files', 'https://x.example', 'more'],
    ['attach', 'files', 'https://x.example', '--url', 'https://y.example'],
    ['attach', 'files', '--url', 'https://x.example', '--', 'x'],
    ['attach', 'shell', '--', 'x'],
    ['attach', 'Files', '--', 'x'],
    ['attach', 'files', '--env', 'NOT_SET_HERE', '--', 'x'],
    ['attach', 'files', '--url', 'https://x.example', '--header', 'nothing'],
    ['explode'],
  ]) {
    const ran = await gantry('servers', ...wrong);
    expect([wrong, ran.code]).toEqual([wrong, 64]);
  }
});

test('a header’s secret need not stand on the command line: it comes from a variable, a file or stdin', async () => {
  const { called, env, tools: gantry } = await start({ attachServer: () => connected });
  const file = join(mkdtempSync(join(tmpdir(), 'gantry-headers-')), 'headers');
  onEnd(() => rmSync(dirname(file), { recursive: true }));
  writeFileSync(file, 'Authorization: Bearer from-file\r\n\nX-Key: two\n');
  const attach = async (headers: readonly string[], stdin: string | null = null) => {
    const argv = ['tools', 'servers', 'attach', 'issues', '--url', 'https://mcp.example/mcp', '--header', ...headers];
    const ran = await run({ ...env, TOKEN: 'from-here' }, argv, stdin);
    expect([ran.code, ran.err]).toEqual([0, '']);
    const seen = called('attachServer') as Seen;
    return (seen.body as { transport: { headers: object } }).transport.headers;
  };
  expect(await attach(['Authorization: Bearer $TOKEN', 'X-Key: $TOKEN'])).toEqual({
    Authorization: 'Bearer from-here',
    'X-Key': 'from-here',
  });
  expect(await attach([`@${file}`])).toEqual({ Authorization: 'Bearer from-file', 'X-Key': 'two' });
  expect(await attach(['@-'], 'Authorization: Bearer from-stdin\n')).toEqual({ Authorization: 'Bearer from-stdin' });
  // What only looks like it is sent as it is.
  expect(await attach(['X-Key: a$TOKEN', 'X-Price: 5$'])).toEqual({ 'X-Key': 'a$TOKEN', 'X-Price': '5$' });
  for (const wrong of ['X-Key: $NOT_SET_HERE', '@/no/such/file', 'sk-secret-without-a-name']) {
    const ran = await gantry('servers', 'attach', 'issues', '--url', 'https://mcp.example/mcp', '--header', wrong);
    expect([wrong, ran.code]).toEqual([wrong, 64]);
    expect(ran.err).not.toContain('sk-secret');
  }
});

test('whoever attaches a server is told how it stands, and what to do where it cannot be reached', async () => {
  let next: Partial<AttachedServer> = {};
  const { tools: gantry } = await start({
    attachServer: () => ({ ...connected, status: 'connecting' }),
    readAttachedServer: () => ({ ...connected, ...next }),
  });
  const attach = () => gantry('servers', 'attach', 'issues', 'https://mcp.example/mcp');
  const well = await attach();
  expect([well.code, well.out]).toEqual([0, expect.stringMatching(/connected and has 2 tools: .*tools ls issues\n$/)]);
  next = { status: 'error', error: 'Nothing listens there (ECONNREFUSED).' };
  const closed = await attach();
  expect(closed.code).toBe(3);
  expect(closed.out).toMatch(/cannot be reached\. Nothing listens[\s\S]*stays attached[\s\S]*reconnect issues/);
  next = attached;
  const asks = await attach();
  expect([asks.code, asks.out]).toEqual([5, expect.stringContaining('https://as.example/authorize')]);
});

test('servers are listed with what is wrong, and found by their names', async () => {
  const { tools: gantry, called } = await start({
    detachServer: () => undefined,
    reconnectServer: () => ({ ...attached, status: 'connecting' }),
    changeAttachedServer: () => ({ ...attached, status: 'disabled' }),
  });
  expect((await gantry('servers')).out).toMatch(/issues\s+needs a sign-in\s+2 tools.*https:\/\/as\.example\/authorize/);
  expect((await gantry('servers', 'reconnect', 'issues')).out).toBe('issues: connecting.\n');
  expect((await gantry('servers', 'disable', 'server_1')).out).toBe('issues: disabled.\n');
  expect(called('changeAttachedServer')?.body).toEqual({ enabled: false });
  expect((await gantry('servers', 'detach', 'issues')).out).toBe('Detached issues.\n');
  expect(called('detachServer')?.params).toEqual({ id: 'server_1' });
  expect((await gantry('servers', 'detach', 'nothing')).code).toBe(2);
});

test('a dry run of a call or of a change to servers does nothing, says what it would do, and keeps secrets out', async () => {
  const { called, tools: gantry } = await start();
  const call = await gantry('call', 'file.read', 'path=notes.md', '--dry-run', '--json');
  expect(JSON.parse(call.out)).toEqual({
    dryRun: true,
    plan: { tool: 'file.read', arguments: { path: 'notes.md' } },
  });
  for (const action of ['detach', 'reconnect', 'enable', 'disable']) {
    expect((await gantry('servers', action, 'issues', '--dry-run')).out).toContain(`this would ${action} issues`);
  }
  const attach = [
    'servers',
    'attach',
    'more',
    '--url',
    'https://mcp.example/more',
    '--header',
    'A: secret',
    '--dry-run',
  ];
  const planned = await gantry(...attach);
  expect(planned.out).toContain('this would attach more: https://mcp.example/more');
  expect(planned.out).not.toContain('secret');
  for (const op of ['callTool', 'attachServer', 'detachServer', 'reconnectServer', 'changeAttachedServer']) {
    expect(called(op), op).toBeUndefined();
  }
});
