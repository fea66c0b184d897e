import { expect, test } from 'vitest';
import { type AttachedServer, AttachServer } from '../../../../src/contracts/tool-server/servers.ts';
import { bodyOf, changeOf, draftOf, problemsOf } from '../../../../src/renderer/areas/tools/server-form.ts';

const program = { ...draftOf(null), name: 'github', command: 'npx', args: '-y\n\n@example/server', timeout: '60' };

test('what is sent is what the contract takes, and nothing that was left empty', () => {
  const body = bodyOf({
    ...program,
    env: [
      { key: 0, name: ' TOKEN ', value: 'secret' },
      { key: 1, name: '', value: '' },
    ],
  });
  expect(body).toEqual({
    name: 'github',
    transport: { type: 'stdio', command: 'npx', args: ['-y', '@example/server'], env: { TOKEN: 'secret' } },
  });
  expect(AttachServer.safeParse(body).success).toBe(true);
  const web = {
    ...program,
    type: 'http',
    url: 'https://example.com/mcp',
    scopes: 'read, write',
    timeout: '5',
  } as const;
  expect(bodyOf(web)).toEqual({
    name: 'github',
    transport: { type: 'http', url: 'https://example.com/mcp', oauth: { scopes: ['read', 'write'] } },
    timeoutMs: 5000,
  });
});

test('each wrong field is named below itself', () => {
  expect(problemsOf(program, null)).toEqual({});
  expect(problemsOf({ ...program, name: '', command: ' ' }, null)).toEqual({
    name: 'Required.',
    command: 'Required.',
  });
  expect(problemsOf({ ...program, name: 'file' }, null).name).toContain('reserved for Gantry’s own tools');
  expect(problemsOf({ ...program, name: 'My Server' }, null).name).toContain('32 lowercase letters');
  expect(problemsOf({ ...program, type: 'http', url: 'javascript:alert(1)' }, null).url).toContain('https://');
  expect(problemsOf({ ...program, timeout: '0' }, null).timeout).toBe('Enter a whole number from 1 to 600.');
  const twice = [
    { key: 0, name: 'A', value: '1' },
    { key: 1, name: 'A', value: '2' },
  ];
  expect(problemsOf({ ...program, env: twice }, null).env).toBe('A appears twice.');
  expect(problemsOf({ ...program, env: [{ key: 0, name: '', value: 'x' }] }, null).env).toBe('A value has no name.');
  // What only the contract knows.
  expect(problemsOf({ ...program, command: 'x'.repeat(5000) }, null).command).toBeDefined();
});

test('a change sends only what differs, and a hidden secret goes back as it came', () => {
  const server: AttachedServer = {
    id: 'srv_1',
    name: 'github',
    transport: { type: 'stdio', command: 'npx', args: ['-y', 'x'], env: { TOKEN: '•••' } },
    enabled: true,
    timeoutMs: 60_000,
    status: 'connected',
    error: null,
    authorizeUrl: null,
    toolCount: 3,
    problems: [],
    pid: 7,
    lastListedAt: null,
    createdAt: '2026-11-21T00:00:00.000Z',
    updatedAt: '2026-11-21T00:00:00.000Z',
  };
  const draft = draftOf(server);
  expect(changeOf(draft, server)).toEqual({});
  expect(changeOf({ ...draft, name: 'gh', timeout: '90' }, server)).toEqual({ name: 'gh', timeoutMs: 90_000 });
  const more = { ...draft, env: [...draft.env, { key: 1, name: 'MODE', value: 'fast' }] };
  expect(problemsOf(more, server)).toEqual({});
  expect(changeOf(more, server)).toEqual({
    transport: { type: 'stdio', command: 'npx', args: ['-y', 'x'], env: { TOKEN: '•••', MODE: 'fast' } },
  });

  // For another program it has to be typed again, which is said before it is sent.
  const other = { ...draft, args: '-y\ny' };
  expect(problemsOf(other, server)).toEqual({
    env: 'Enter the value of TOKEN again: the program has changed.',
  });
  expect(problemsOf({ ...other, env: [{ key: 0, name: 'TOKEN', value: 'new' }] }, server)).toEqual({});
  expect(problemsOf({ ...other, env: [] }, server)).toEqual({});
  const oauth = { clientId: 'me', clientSecret: '•••' };
  const web = {
    ...server,
    transport: { type: 'http' as const, url: 'https://a.example/', headers: { k: '•••' }, oauth },
  };
  expect(problemsOf({ ...draftOf(web), timeout: '5' }, web)).toEqual({});
  expect(problemsOf({ ...draftOf(web), url: 'https://b.example/' }, web)).toEqual({
    headers: 'Enter the value of k again: the address has changed.',
    clientSecret: 'Enter it again: the address has changed.',
  });
});
