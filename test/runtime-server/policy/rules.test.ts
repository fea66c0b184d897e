/** "Always allow this" over HTTP: a question becomes a rule, shown first as it is written, and only from a signed-in page. */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Engine, ownerToken, sharedEngine, through } from '../engine.ts';
import { startShells } from '../shells.ts';

const engine = sharedEngine();
const file = '.gantry/policy.yaml';

interface Shown {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly sha256: string;
}
type Refusal = { readonly error: string; readonly action: string };

async function newBot(): Promise<{ token: string; address: string }> {
  const address = `worker@${await startShells(engine.current, 'worker')}`;
  return { address, token: await engine.current.botToken(address) };
}

/** The bot asks whether it may, and its question waits. */
async function asked(token: string, action: object): Promise<string> {
  const { body } = await engine.current.call<{ verdict: string; approvalId: string }>(
    'POST',
    '/gate',
    { ...action, waitSeconds: 0 },
    { token },
  );
  expect(body.verdict).toBe('ask');
  return body.approvalId;
}

const may = async (token: string, action: object) =>
  (
    await engine.current.call<{ verdict: string; rule: string }>(
      'POST',
      '/gate',
      { ...action, dryRun: true },
      { token },
    )
  ).body;
const add = <T>(body: object, as: Parameters<Engine['call']>[3] = through('browser')) =>
  engine.current.call<T>('POST', '/policy/rules', body, as);
const look = async (approvalId: string): Promise<Shown> => {
  const { status, body } = await add<{ plan: Shown }>({ approvalId, dryRun: true });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.plan;
};
const text = () => readFileSync(join(engine.current.workspace, file), 'utf8');

test('a question becomes the rule that was shown, comments stay, it counts at once, and nothing waits for a yes', async () => {
  const { token, address } = await newBot();
  const before = '# ours\nrules:\n  # no pushes\n  - when: {command: "git push*"}\n    then: deny\n';
  engine.current.write(file, before);
  const action = { tool: 'shell.exec', command: 'npm run build' };
  const plan = await look(await asked(token, action));
  expect(text()).toBe(before);
  expect(plan.rule).toBe(
    [
      '- when:',
      '    tool: "shell.exec"',
      `    bot: "${address}"`,
      '    command: "npm run build"',
      '  then: allow',
      '  reason: "always allowed, from a question"',
    ].join('\n'),
  );
  const approvalId = await asked(token, action);
  const done = await add<Shown>({ approvalId, sha256: plan.sha256 });
  expect([done.status, done.body]).toEqual([200, plan]);
  expect(text()).toBe(`${before}${plan.rule.replace(/^/gm, '  ')}\n`);
  expect(await may(token, action)).toMatchObject({
    verdict: 'allow',
    rule: `${file} line ${plan.line}: always allowed, from a question`,
  });
  expect(await may(token, { tool: 'shell.exec', command: 'npm run build --force' })).toMatchObject({ verdict: 'ask' });
  const other = await newBot();
  expect(await may(other.token, action)).toMatchObject({ verdict: 'ask' });
  const { body } = await engine.current.call<{ files: unknown[] }>('GET', '/workspace/trust');
  expect(body.files).toEqual([]);
});

test('a workspace without a policy, or with an empty one, gets the file', async () => {
  const { token } = await newBot();
  for (const [index, before] of [null, 'rules: []\n', '# nothing yet\n'].entries()) {
    if (before === null) {
      rmSync(join(engine.current.workspace, file), { force: true });
      await engine.current.agree();
    } else engine.current.write(file, before);
    const action = { tool: 'file.write', path: `notes/${index}.md` };
    const approvalId = await asked(token, action);
    const { sha256 } = await look(approvalId);
    expect((await add({ approvalId, sha256 })).status).toBe(200);
    expect(await may(token, action)).toMatchObject({ verdict: 'allow' });
    if (before?.startsWith('#')) expect(text()).toMatch(/^# nothing yet\nrules:\n/);
  }
});

test('nobody but a person at a signed-in page adds a rule: not a push, a text, the command line, a key or a bot', async () => {
  const { token } = await newBot();
  engine.current.write(file, 'rules: []\n');
  const approvalId = await asked(token, { tool: 'shell.exec', command: 'make all' });
  const { sha256 } = await look(approvalId);
  for (const surface of ['push', 'text', 'cli', 'key', 'oidc', 'desktop']) {
    for (const body of [
      { approvalId, sha256 },
      { approvalId, dryRun: true },
    ]) {
      expect([surface, (await add<Refusal>(body, through(surface))).status]).toEqual([surface, 403]);
    }
  }
  expect((await add({ approvalId, sha256 }, { token: ownerToken })).status).toBe(403);
  expect([401, 403]).toContain((await add({ approvalId, sha256 }, { token })).status);
  expect((await add({ approvalId, sha256 }, { token: 'x'.repeat(40) })).status).toBe(401);
  expect(text()).toBe('rules: []\n');
});

test('what cannot be a rule is refused with the reason, and nothing is written', async () => {
  const { token } = await newBot();
  const before = 'rules:\n  - when: {command: "deploy now"}\n    then: ask\n';
  engine.current.write(file, before);
  const refusals: [object, RegExp][] = [
    [{ tool: 'shell.exec', command: 'npm test && rm -rf /' }, /more than one plain command/],
    [{ tool: 'shell.exec', command: 'rm -rf *' }, /mean something else in a rule/],
    [{ tool: 'shell.exec', command: `echo ${'x'.repeat(600)}` }, /more than 500 characters/],
    [{ tool: 'file.write', path: '.git/hooks/pre-commit' }, /what may run/],
    [{ tool: 'file.write', path: '.gantry/policy.yaml' }, /what may run/],
    [{ tool: 'tracker.close_ticket' }, /names no command, file or host/],
    [{ tool: 'shell.exec', command: 'deploy now' }, /Another rule comes first/],
  ];
  for (const [action, why] of refusals) {
    const approvalId = await asked(token, action);
    const { status, body } = await add<Refusal>({ approvalId, dryRun: true });
    expect([status, JSON.stringify(body)]).toEqual([403, expect.stringMatching(why)]);
  }
  expect((await add({ approvalId: 'apr_01JUNKNOWN0', dryRun: true })).status).toBe(404);
  const own = await engine.current.call<{ approvalId: string }>('POST', '/gate', {
    tool: 'http.post',
    host: 'example.com',
    waitSeconds: 0,
  });
  if (own.body.approvalId !== null) {
    expect((await add({ approvalId: own.body.approvalId, dryRun: true })).status).toBe(403);
  }
  expect(text()).toBe(before);
});

test('a file that changed since it was shown, waits for its yes, or lies elsewhere is not added to', async () => {
  const { token } = await newBot();
  engine.current.write(file, 'rules: []\n');
  const approvalId = await asked(token, { tool: 'shell.exec', command: 'make docs' });
  const { sha256 } = await look(approvalId);
  expect((await add({ approvalId })).status).toBe(409);
  engine.current.write(file, 'rules: []\n# changed\n');
  await engine.current.agree();
  expect((await add({ approvalId, sha256 })).status).toBe(409);
  engine.current.slipIn(file, 'rules: [] # slipped in\n');
  expect((await add<Refusal>({ approvalId, dryRun: true })).status).toBe(403);
  const path = join(engine.current.workspace, file);
  rmSync(path);
  symlinkSync('/etc/hostname', path);
  expect((await add<Refusal>({ approvalId, dryRun: true })).status).toBe(403);
  expect([existsSync(path), lstatSync(path).isSymbolicLink()]).toEqual([true, true]);
  rmSync(path);
});

const takeBack = (sha256: string, as: Parameters<Engine['call']>[3] = through('browser')) =>
  engine.current.call<{ removed: string } & Refusal>('DELETE', `/policy/rules/last?sha256=${sha256}`, undefined, as);

test('a rule that was added can be taken back: the file is as it was, and the bot is asked about again', async () => {
  const { token } = await newBot();
  const ours = '# ours\nrules:\n    # no pushes\n    - when: {command: "git push*"}\n      then: deny\n';
  for (const [index, before] of [ours, '', '# nothing yet\n', 'rules: []\n', 'sandbox: none\n'].entries()) {
    engine.current.write(file, before);
    await engine.current.agree();
    const action = { tool: 'shell.exec', command: `npm run back-${index}` };
    const approvalId = await asked(token, action);
    const { sha256, rule } = await look(approvalId);
    expect((await add({ approvalId, sha256 })).status).toBe(200);
    const { status, body } = await takeBack(sha256);
    expect([status, body.removed]).toEqual([200, rule]);
    expect([index, text()]).toEqual([index, before === 'sandbox: none\n' ? `${before}rules: []\n` : before]);
    expect(await may(token, action)).toMatchObject({ verdict: 'ask' });
    expect((await takeBack(sha256)).status).toBe(409);
  }
});

test('a rule stays where a person wrote it, where the file has changed or waits for its yes, and for whoever is not at a page', async () => {
  const { token } = await newBot();
  engine.current.write(file, 'rules: []\n');
  const approvalId = await asked(token, { tool: 'shell.exec', command: 'make stay' });
  const { sha256 } = await look(approvalId);
  expect((await add({ approvalId, sha256 })).status).toBe(200);
  const added = text();
  for (const surface of ['push', 'text', 'cli', 'key', 'oidc', 'desktop']) {
    expect([surface, (await takeBack(sha256, through(surface))).status]).toEqual([surface, 403]);
  }
  expect((await takeBack(sha256, { token: ownerToken })).status).toBe(403);
  expect([401, 403]).toContain((await takeBack(sha256, { token })).status);
  expect((await takeBack('0'.repeat(64))).status).toBe(409);
  expect((await takeBack('last')).status).toBe(400);
  engine.current.slipIn(file, `${added}# slipped in\n`);
  expect((await takeBack(sha256)).status).toBe(403);
  const own = 'rules:\n  - when: {command: "make ours"}\n    then: allow\n';
  const hashOf = (other: string) => createHash('sha256').update(other).digest('hex');
  for (const [other, hash] of [
    [`${added}# more\n`, sha256],
    [own, hashOf(own)],
    ['rules: {\n', hashOf('rules: {\n')],
  ] as const) {
    engine.current.write(file, other);
    await engine.current.agree();
    expect([other, (await takeBack(hash)).status]).toEqual([other, 409]);
    expect(text()).toBe(other);
  }
});

interface Proposed extends Shown {
  readonly approvalIds: string[];
}
const proposed = async () =>
  (await engine.current.call<{ proposals: Proposed[] }>('GET', '/policy/rule-proposals', undefined, through('browser')))
    .body.proposals;

test('questions that wait are proposed as one rule that covers them, which is written as shown', async () => {
  const [one, two] = [await newBot(), await newBot()];
  engine.current.write(file, 'rules: []\n');
  const action = { tool: 'shell.exec', command: 'npm run together' };
  const ids = [await asked(one.token, action), await asked(two.token, action)];
  const mine = (await proposed()).find(({ rule }) => rule.includes('npm run together'))!;
  expect(mine.approvalIds).toEqual(ids);
  expect(mine.rule).toContain(`bot: "{${one.address},${two.address}}"`);
  const [approvalId, ...also] = mine.approvalIds;
  const { status, body } = await add<Shown>({ approvalId, also, sha256: mine.sha256 });
  expect([status, body]).toEqual([200, { path: file, line: mine.line, rule: mine.rule, sha256: mine.sha256 }]);
  for (const { token } of [one, two]) expect(await may(token, action)).toMatchObject({ verdict: 'allow' });
  expect(await may((await newBot()).token, action)).toMatchObject({ verdict: 'ask' });
});

test('rules are proposed only to a person at a signed-in page, and none while the file waits for a yes', async () => {
  const [one, two] = [await newBot(), await newBot()];
  engine.current.write(file, 'rules: []\n');
  const action = { tool: 'shell.exec', command: 'make together' };
  for (const { token } of [one, two]) await asked(token, action);
  expect((await proposed()).some(({ rule }) => rule.includes('make together'))).toBe(true);
  const read = async (as: Parameters<Engine['call']>[3]) =>
    (await engine.current.call('GET', '/policy/rule-proposals', undefined, as)).status;
  for (const surface of ['push', 'text', 'cli', 'key', 'oidc', 'desktop']) {
    expect([surface, await read(through(surface))]).toEqual([surface, 403]);
  }
  expect(await read({ token: ownerToken })).toBe(403);
  expect([401, 403]).toContain(await read({ token: one.token }));
  engine.current.slipIn(file, 'rules: [] # slipped in\n');
  expect(await proposed()).toEqual([]);
});

test('a question about a destination becomes a rule of its bot, its team or the workspace', async () => {
  const { token, address } = await newBot();
  const other = await newBot();
  const action = { tool: 'network.connect', host: 'registry.example.org:443' };
  for (const [reach, bot, opensOther] of [
    [undefined, address, false],
    ['bot', address, false],
    ['team', `*@${address.split('@')[1]}`, false],
    ['workspace', '*', true],
  ] as const) {
    engine.current.write(file, 'rules: []\n');
    const approvalId = await asked(token, action);
    const { status, body } = await add<{ plan: Shown }>({ approvalId, for: reach, dryRun: true });
    expect([status, body.plan.rule.split('\n').slice(1, 4)]).toEqual([
      200,
      ['    tool: "network.connect"', `    bot: "${bot}"`, '    host: "registry.example.org:443"'],
    ]);
    expect((await add({ approvalId, for: reach, sha256: body.plan.sha256 })).status).toBe(200);
    expect(await may(token, action)).toMatchObject({ verdict: 'allow' });
    expect((await may(other.token, action)).verdict).toBe(opensOther ? 'allow' : 'ask');
    expect(await may(token, { ...action, host: 'registry.example.org:8443' })).toMatchObject({ verdict: 'ask' });
  }
});
