/** Attached servers as a person meets them: attached, listed, called, changed, detached, and kept over a restart. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isOwnToolServer } from '../../../../src/host/runtime-tools.ts';
import { serveHttp } from '../../../support/attached/http.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { alive, onEnd, openServers, stdio, textOf } from './support.ts';

const open = (more = {}) => openServers({ file: join(scratchFolder(), 'runtime.db'), ...more });

test('a server that is attached is connected, listed and called, in both spellings of its name', async () => {
  const servers = await open();
  const made = await servers.attach('notes', stdio('usual'));
  expect(made).toMatchObject({ name: 'notes', status: 'connecting', enabled: true, timeoutMs: 60_000, toolCount: 0 });
  await servers.until(made.id, 'connected');
  expect(servers.names()).toEqual(['notes.die', 'notes.echo', 'notes.env', 'notes.wait']);
  expect(await servers.read(made.id)).toMatchObject({
    toolCount: 4,
    problems: [],
    error: null,
    pid: expect.any(Number),
    lastListedAt: expect.stringMatching(/^2.*Z$/),
  });
  expect(servers.tools.list()[1]).toEqual({
    name: 'notes.echo',
    server: 'notes',
    description: 'Does echo.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  });
  expect(textOf(await servers.call('notes.echo', { text: 'hi' }))).toBe('echo: {"text":"hi"}');
  expect(textOf(await servers.call('notes_echo', { text: 'hi' }))).toBe('echo: {"text":"hi"}');
});

test('secrets are sealed at rest, never shown, given to the child, and kept by what stands in their place', async () => {
  const file = join(scratchFolder(), 'runtime.db');
  const servers = await openServers({ file });
  const secret = 'sk-very-secret-value';
  const transport = { ...stdio('usual'), env: { KEY: secret, OTHER: 'plain-looking' } };
  const { id, transport: shown } = await servers.attach('notes', transport);
  expect(shown).toEqual({ ...transport, env: { KEY: '•••', OTHER: '•••' } });
  await servers.until(id, 'connected');
  const envOf = async () => JSON.parse(textOf(await servers.call('notes.env'))) as Record<string, string>;
  expect(await envOf()).toMatchObject({ KEY: secret, OTHER: 'plain-looking' });
  expect(await envOf()).not.toHaveProperty('VITEST');

  const path = `/mcp/servers/${id}`;
  const changed = await servers.http('PATCH', path, {
    body: { transport: { ...transport, env: { KEY: '•••', OTHER: 'new' } } },
  });
  expect([changed.status, JSON.stringify(changed.json).includes(secret)]).toEqual([200, false]);
  await servers.until(id, 'connected');
  expect(await envOf()).toMatchObject({ KEY: secret, OTHER: 'new' });

  const unknown = await servers.http('PATCH', path, { body: { transport: { ...transport, env: { NEW: '•••' } } } });
  expect([unknown.status, unknown.json.message]).toEqual([400, expect.stringContaining('transport.env.NEW')]);
  await servers.close();
  expect(readFileSync(file).includes(secret)).toBe(false);
});

test('a secret is kept for the place that it was given for, and sent to no other', async () => {
  const servers = await open();
  const secret = 'sk-very-secret-value';
  const program = { type: 'stdio', command: 'true', args: ['a'], env: { TOKEN: secret } };
  const url = 'https://mcp.example/mcp';
  const oauth = { clientId: 'me', clientSecret: secret };
  const address = { type: 'http', url, headers: { Authorization: `Bearer ${secret}` }, oauth };
  const ids = {
    program: (await servers.attach('program', program, { enabled: false })).id,
    address: (await servers.attach('address', address, { enabled: false })).id,
  };
  const patch = (of: keyof typeof ids, transport: object) =>
    servers.http('PATCH', `/mcp/servers/${ids[of]}`, { body: { transport } });
  const env = { TOKEN: '•••' };
  const headers = { Authorization: '•••' };
  const elsewhere = [
    ['program', { type: 'stdio', command: 'sh', args: ['a'], env }],
    ['program', { type: 'stdio', command: 'true', args: ['-c', 'echo "$TOKEN"'], env }],
    ['program', { type: 'stdio', command: 'true', args: ['a'], cwd: '/', env }],
    ['address', { type: 'http', url: 'https://evil.example/mcp', headers }],
    ['address', { type: 'http', url: 'https://mcp.example/other', headers }],
    ['address', { type: 'http', url: 'https://evil.example/mcp', oauth: { ...oauth, clientSecret: '•••' } }],
  ] as const;
  for (const [of, transport] of elsewhere) {
    const { status, json } = await patch(of, transport);
    expect([status, json.error, json.message]).toEqual([400, 'bad_request', expect.stringMatching(/Send .* again/)]);
    expect(JSON.stringify(json)).not.toContain(secret);
  }
  // Where it is the same, it stays, and what is beside it may change.
  expect((await patch('program', { ...program, env: { ...env, MODE: 'fast' } })).status).toBe(200);
  expect((await patch('address', { ...address, headers, oauth: { clientSecret: '•••' } })).status).toBe(200);
  // Sent again, or left out, another place may be named.
  expect((await patch('program', { ...program, command: 'sh' })).status).toBe(200);
  expect((await patch('address', { type: 'http', url: 'https://mcp.example/other' })).status).toBe(200);
  const dropped = await patch('address', { type: 'http', url: 'https://mcp.example/other', headers });
  expect([dropped.status, dropped.json.message]).toEqual([
    400,
    expect.stringContaining('no secret that could be kept'),
  ]);
});

test('Gantry’s own tool server is not attached to itself, under whatever name it is called', async () => {
  const origins = ['http://127.0.0.1:7001', 'https://gantry.example', ''];
  const servers = await open({ isOwn: (url: URL) => isOwnToolServer(url, 'c1', origins) });
  const own = [
    'http://127.0.0.1:7001/mcp/server',
    'http://localhost:7001/mcp/server?names=safe',
    'http://[::1]:7001/mcp/server/',
    'https://gantry.example:443/mcp/server?computer=c1',
  ];
  const other = [
    'http://127.0.0.1:7002/mcp/server',
    'https://other.example/mcp/server',
    'https://gantry.example/mcp/server?computer=c2',
  ];
  const { id } = await servers.attach('web', { type: 'http', url: other[0] }, { enabled: false });
  for (const url of own) {
    const transport = { type: 'http', url };
    const attached = await servers.http('POST', '/mcp/servers', { body: { name: 'self', transport } });
    const changed = await servers.http('PATCH', `/mcp/servers/${id}`, { body: { transport } });
    for (const { status, json } of [attached, changed]) {
      expect([url, status, json.message]).toEqual([url, 400, expect.stringContaining('Gantry’s own tool server')]);
    }
  }
  for (const [index, url] of other.entries()) {
    await servers.attach(`other-${index}`, { type: 'http', url }, { enabled: false });
  }
});

test('a header that is kept is sent as it was given', async () => {
  const server = await serveHttp();
  onEnd(server.close);
  const servers = await open();
  const transport = { type: 'http', url: server.url, headers: { 'x-key': 'sk-secret' } };
  const { id } = await servers.attach('web', transport);
  await servers.until(id, 'connected');
  const body = { transport: { ...transport, headers: { 'x-key': '•••', 'x-more': 'new' } } };
  const { status, json } = await servers.http('PATCH', `/mcp/servers/${id}`, { body });
  expect([status, json]).toMatchObject([200, { transport: { headers: { 'x-key': '•••', 'x-more': '•••' } } }]);
  await servers.until(id, 'connected');
  expect(server.requests.at(-1)?.headers).toMatchObject({ 'x-key': 'sk-secret', 'x-more': 'new' });
});

test('what was sealed under another master key is told, and can be set anew', async () => {
  const file = join(scratchFolder(), 'runtime.db');
  const first = await openServers({ file });
  const { id } = await first.attach('notes', { ...stdio('usual'), env: { KEY: 'secret-one' } });
  await first.until(id, 'connected');
  await first.close();
  const second = await openServers({ file, key: 'another'.repeat(8) });
  expect(await second.read(id)).toMatchObject({
    status: 'error',
    error: expect.stringContaining('another master key'),
    toolCount: 4,
  });
  expect(textOf(await second.call('notes.env'))).toContain('another master key');
  await second.http('PATCH', `/mcp/servers/${id}`, { body: { transport: { ...stdio('usual'), env: { KEY: 'two' } } } });
  await second.until(id, 'connected');
});

test('a name is one server’s, not a native family’s, and unknown ids are not found', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('usual'), { enabled: false });
  const post = (body: unknown) => servers.http('POST', '/mcp/servers', { body });
  expect(await post({ name: 'notes', transport: stdio('usual') })).toMatchObject({
    status: 409,
    json: { error: 'name_taken' },
  });
  const bad = [
    { name: 'shell', transport: stdio('usual') },
    { name: 'document', transport: stdio('usual') },
    { name: 'With Space', transport: stdio('usual') },
    { name: 'x'.repeat(33), transport: stdio('usual') },
    { name: 'web', transport: { type: 'http', url: 'ftp://example.com' } },
    { name: 'web', transport: { type: 'http', url: 'not an address' } },
    { name: 'web', transport: { type: 'http', url: 'https://user:password@example.com/mcp' } },
    { name: 'web', transport: { type: 'http', url: 'https://example.com/', headers: { 'a b': 'c' } } },
    { name: 'web', transport: { type: 'http', url: 'https://example.com/', headers: { a: 'b\r\nc: d' } } },
    { name: 'web', transport: { type: 'pipe', command: 'x' } },
    { name: 'web', transport: stdio('usual'), timeoutMs: 10 },
  ];
  for (const body of bad) expect([(await post(body)).status, body]).toEqual([400, body]);
  const other = await servers.attach('other', stdio('usual'), { enabled: false });
  const renamed = await servers.http('PATCH', `/mcp/servers/${other.id}`, { body: { name: 'notes' } });
  expect(renamed.status).toBe(409);
  for (const [method, path] of [
    ['GET', '/mcp/servers/server_none'],
    ['PATCH', '/mcp/servers/server_none'],
    ['DELETE', '/mcp/servers/server_none'],
    ['POST', '/mcp/servers/server_none/reconnect'],
  ] as const) {
    const answer = await servers.http(method, path, method === 'PATCH' ? { body: {} } : {});
    expect([answer.status, answer.json.error]).toEqual([404, 'server_not_found']);
  }
  expect(await servers.read(id)).toMatchObject({ status: 'disabled', pid: null, error: null });
  const list = (await servers.http('GET', '/mcp/servers')).json as unknown as { servers: { name: string }[] };
  expect(list.servers.map(({ name }) => name)).toEqual(['notes', 'other']);
});

test('disabled, enabled, renamed and detached, a server’s tools and its process go with it', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('usual'));
  await servers.until(id, 'connected');
  const pid = (await servers.read(id)).pid as number;
  const path = `/mcp/servers/${id}`;
  const before = servers.tools.revision;
  await servers.http('PATCH', path, { body: { enabled: false } });
  expect([servers.names(), alive(pid)]).toEqual([[], false]);
  expect(servers.tools.revision).toBeGreaterThan(before);
  expect(textOf(await servers.call('notes.echo', { text: 'x' }))).toBe('There is no tool "notes.echo".');
  await servers.http('PATCH', path, { body: { enabled: true, name: 'papers' } });
  expect(servers.names()).toContain('papers.echo');
  await servers.until(id, 'connected');
  expect(textOf(await servers.call('papers.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  const again = (await servers.read(id)).pid as number;
  await servers.http('POST', `${path}/reconnect`);
  expect(alive(again)).toBe(false);
  await servers.until(id, 'connected');
  const last = (await servers.read(id)).pid as number;
  expect((await servers.http('DELETE', path)).status).toBe(204);
  expect([servers.names(), alive(last)]).toEqual([[], false]);
  expect((await servers.http('GET', path)).status).toBe(404);
});

test('a change that is no other place keeps the process and the list; another program starts with an empty one', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('usual'));
  await servers.until(id, 'connected');
  const { pid } = await servers.read(id);
  const path = `/mcp/servers/${id}`;
  await servers.http('PATCH', path, { body: { timeoutMs: 5000, name: 'papers' } });
  expect(await servers.read(id)).toMatchObject({ pid, timeoutMs: 5000, status: 'connected' });
  expect(textOf(await servers.call('papers.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  const other = (await servers.http('PATCH', path, { body: { transport: stdio('hangs-at-connect') } })).json;
  expect(other).toMatchObject({ status: 'connecting', toolCount: 0, lastListedAt: null });
  expect(servers.names()).toEqual([]);
});

test('lists are the same bytes over a restart, whoever answers first and in whatever order a server lists', async () => {
  const file = join(scratchFolder(), 'runtime.db');
  const first = await openServers({ file });
  const kinds = ['usual', 'twice', 'odd', 'usual'] as const;
  const ids: string[] = [];
  for (const [index, kind] of kinds.entries()) ids.push((await first.attach(`s${3 - index}`, stdio(kind))).id);
  for (const id of ids) await first.until(id, 'connected');
  const bytes = JSON.stringify(first.tools.list());
  const names = first.names();
  expect(names).toEqual([...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  // From the next start on they list backwards, and the members of a tool in another order.
  await first.store.write((tx) =>
    tx.run(`UPDATE attached_server SET transport = replace(transport, '"usual"', '"shuffled"')`),
  );
  await first.close();

  const second = await openServers({ file });
  expect(JSON.stringify(second.tools.list())).toBe(bytes);
  const { revision } = second.tools;
  const same = second.tools.list();
  for (const id of [...ids].reverse()) await second.until(id, 'connected');
  expect(JSON.stringify(second.tools.list())).toBe(bytes);
  expect([second.tools.revision, second.tools.list() === same]).toEqual([revision, true]);
});

test('the last good list stays while a server is gone, also over a restart, and a call says what is wrong', async () => {
  const folder = scratchFolder();
  const file = join(folder, 'runtime.db');
  const first = await openServers({ file });
  const { id } = await first.attach('notes', stdio('usual'));
  await first.until(id, 'connected');
  // As if its program had been removed between two starts.
  await first.store.write((tx) =>
    tx.run(`UPDATE attached_server SET transport = '{"type":"stdio","command":"/no/such/program"}'`),
  );
  await first.close();
  const second = await openServers({ file });
  await second.until(id, 'error');
  expect(second.names()).toContain('notes.echo');
  expect((await second.read(id)).error).toContain('/no/such/program could not be started: there is no such program');
  const answer = await second.call('notes.echo', { text: 'x' });
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toMatch(/^The attached server "notes" cannot be reached \(\d+\.\d s\): .* Nothing ran\.$/s);
});

test('a server that says that its list changed is listed anew', async () => {
  const servers = await open();
  const { id } = await servers.attach('notes', stdio('grows'));
  await servers.until(id, 'connected');
  expect(servers.names()).toEqual(['notes.echo', 'notes.wait']);
  await servers.call('notes.echo', { text: 'x' });
  await expect.poll(() => servers.names()).toEqual(['notes.die', 'notes.echo', 'notes.wait']);
  expect(servers.lines.at(-1)).toEqual({
    message: 'An attached server changed its tools.',
    facts: { server: 'notes', added: ['die'], removed: [], changed: [] },
  });
});

test('two names that would be one in the spelling for every client are one tool’s, the elder server’s', async () => {
  const servers = await open();
  const elder = await servers.attach('a_b', stdio('twice'));
  const younger = await servers.attach('a', stdio('underscored'));
  for (const { id } of [younger, elder]) await servers.until(id, 'connected');
  expect(servers.names()).toEqual(['a.other', 'a_b.echo', 'a_b.fine']);
  expect((await servers.read(elder.id)).problems).toEqual(['"echo" is listed twice; the first one is used.']);
  expect(await servers.read(younger.id)).toMatchObject({
    toolCount: 1,
    problems: ['"b.echo" is left out: "a_b_echo" is another name of "a_b.echo".'],
  });
  expect(servers.tools.list()[1]?.description).toBe('The first.');
  expect(textOf(await servers.call('a_b_echo'))).toBe('echo: {}');
});

test('one block that nobody knows does not cost the others: it becomes text that says what it was', async () => {
  const servers = await open();
  const { id } = await servers.attach('odd', stdio('blocks'));
  await servers.until(id, 'connected');
  const { content, isError } = await servers.call('odd.echo', { text: 'x' });
  expect(isError).toBe(false);
  expect(content.every(({ type }) => type === 'text')).toBe(true);
  const texts = content.map(({ text }) => String(text));
  expect(texts).toEqual([
    'before',
    expect.stringMatching(/"chart".*a chart/),
    expect.stringContaining('"image"'),
    'hinted',
    expect.stringContaining('cannot be read'),
    'after',
  ]);
});

test('prompts of a server are listed under its name, survive a restart, and are filled in there', async () => {
  const file = join(scratchFolder(), 'runtime.db');
  const servers = await openServers({ file });
  const { id } = await servers.attach('notes', stdio('prompts'));
  await servers.until(id, 'connected');
  const { prompts } = servers.tools;
  const listed = [
    { name: 'notes.broken', server: 'notes' },
    {
      name: 'notes.review code',
      server: 'notes',
      title: 'Review',
      description: 'Reviews.',
      arguments: [
        { name: 'path', required: true },
        { name: 'how', description: 'In which way' },
      ],
    },
  ];
  expect(prompts?.list()).toEqual(listed);
  expect((await servers.read(id)).problems).toEqual(['Prompt 3 has no name.']);
  const signal = new AbortController().signal;
  expect(await prompts?.get('notes.review code', { path: 'a.ts' }, { signal })).toEqual({
    description: 'A review.',
    messages: [
      { role: 'user', content: { type: 'text', text: 'Review {"path":"a.ts"}' } },
      { role: 'assistant', content: { type: 'text', text: expect.stringContaining('"hologram"') } },
    ],
  });
  await expect(prompts?.get('notes.broken', {}, { signal })).rejects.toMatchObject({
    code: 'transport',
    fact: expect.stringContaining('"notes" did not give the prompt: It cannot.'),
  });
  await servers.http('PATCH', `/mcp/servers/${id}`, { body: { enabled: false } });
  expect(prompts?.list()).toEqual([]);
  await servers.http('PATCH', `/mcp/servers/${id}`, { body: { enabled: true } });
  await servers.close();
  const again = await openServers({ file });
  expect(again.tools.prompts?.list()).toEqual(listed);
});

test('a server that declares prompts and lists none keeps its tools', async () => {
  const servers = await open();
  const { id } = await servers.attach('half', stdio('prompts-unlisted'));
  await servers.until(id, 'connected');
  expect([servers.names().length, servers.tools.prompts?.list()]).toEqual([4, []]);
  expect((await servers.read(id)).problems.join()).toContain('did not list them');
});
