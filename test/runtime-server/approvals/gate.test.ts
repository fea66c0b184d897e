/** The gate "may I?" on a whole engine: policy at once, else a person, for exactly this action and once. */
import { expect, test } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import { type Engine, ownerToken, sharedEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

const engine = sharedEngine();

interface GateAnswer {
  readonly verdict: string;
  readonly rule: string;
  readonly approvalId: string | null;
  readonly note: string | null;
}

async function newBot(): Promise<{ token: string; address: string }> {
  const address = `worker@${await startShells(engine.current, 'worker')}`;
  return { address, token: await engine.current.botToken(address) };
}

const gate = (body: object, token = ownerToken) => engine.current.call<GateAnswer>('POST', '/gate', body, { token });

async function live(of: Engine): Promise<Approval[]> {
  return of.approvals.live();
}

async function answer(of: Engine, id: string, decision: 'approve' | 'reject', note: string | null = null) {
  return of.approvals.answer({
    id,
    decision,
    note,
    resolvedBy: { user: 'user_local', surface: 'browser' },
    at: new Date().toISOString(),
  });
}

test('what the policy allows or denies is answered at once; nobody is asked', async () => {
  const { token } = await newBot();
  engine.current.write(
    '.gantry/policy.yaml',
    'rules:\n  - when: {command: "git push*"}\n    then: deny\n    reason: a person pushes\n',
  );
  expect((await gate({ tool: 'file.read', path: 'a.txt' }, token)).body).toEqual({
    verdict: 'allow',
    rule: 'default: reading is allowed',
    approvalId: null,
    note: null,
  });
  expect((await gate({ tool: 'shell.exec', command: 'git push' }, token)).body).toMatchObject({
    verdict: 'deny',
    rule: '.gantry/policy.yaml line 2: a person pushes',
    approvalId: null,
  });
  const dry = await gate({ tool: 'shell.exec', command: 'npm test', dryRun: true }, token);
  expect(dry.body).toMatchObject({ verdict: 'ask', approvalId: null });
  expect(await live(engine.current)).toEqual([]);
  expect((await gate({ tool: 'shell.exec', mode: 'BYPASS_PERMISSIONS' }, token)).status).toBe(400);
});

test('a bot waits for its person, gets the answer with the note, and must ask again for the next time', async () => {
  const { token, address } = await newBot();
  const waiting = gate({ tool: 'shell.exec', command: 'npm publish', reason: 'the release is due' }, token);
  await expect.poll(() => live(engine.current)).toHaveLength(1);
  const [asked] = await live(engine.current);
  expect(asked).toMatchObject({
    source: 'gate',
    title: `${address}: Run a command`,
    summary: 'npm publish',
    reason: 'the release is due',
    risk: 'high',
    state: 'pending',
  });
  expect(await answer(engine.current, asked!.id, 'approve', 'once')).toBe('applied');
  expect((await waiting).body).toEqual({
    verdict: 'allow',
    rule: expect.stringMatching(/^approved by user_local via browser at 20/),
    approvalId: asked!.id,
    note: 'once',
  });
  const again = await gate({ tool: 'shell.exec', command: 'npm publish', waitSeconds: 0 }, token);
  expect(again.body).toMatchObject({ verdict: 'ask', rule: 'nobody has answered yet' });
  expect(again.body.approvalId).not.toBe(asked!.id);
  await engine.current.approvals.withdraw(again.body.approvalId!, 'engine');
});

test('a bot that did not wait takes the answer by asking again, once; another bot and another action do not get it', async () => {
  const { token } = await newBot();
  const { token: other } = await newBot();
  const ask = { tool: 'shell.exec', command: 'make deploy', waitSeconds: 0 };
  const first = await gate(ask, token);
  expect(first.body).toMatchObject({ verdict: 'ask', approvalId: expect.stringMatching(/^apr_/) });
  expect((await gate(ask, token)).body.approvalId).toBe(first.body.approvalId);
  expect((await gate(ask, other)).body.approvalId).not.toBe(first.body.approvalId);
  await answer(engine.current, first.body.approvalId!, 'approve');
  expect((await gate({ ...ask, command: 'make deploy-all' }, token)).body.verdict).toBe('ask');
  expect((await gate(ask, other)).body.verdict).toBe('ask');
  expect((await gate(ask, token)).body).toMatchObject({ verdict: 'allow', approvalId: first.body.approvalId });
  expect((await gate(ask, token)).body.verdict).toBe('ask');
  for (const { id } of await live(engine.current)) await engine.current.approvals.withdraw(id, 'engine');
});

test('two that ask the same at once wait for one question, and one of them acts on its yes', async () => {
  const { token } = await newBot();
  const ask = { tool: 'shell.exec', command: 'make release', waitSeconds: 5 };
  const both = [gate(ask, token), gate(ask, token)];
  await expect.poll(() => live(engine.current)).toHaveLength(1);
  const [asked] = await live(engine.current);
  // The second joins within the same moment; a third that comes to wait says that both are there.
  expect((await gate({ ...ask, waitSeconds: 0 }, token)).body.approvalId).toBe(asked!.id);
  await answer(engine.current, asked!.id, 'approve');
  const verdicts = (await Promise.all(both)).map(({ body }) => body.verdict);
  expect(verdicts.toSorted()).toEqual(['allow', 'ask']);
  for (const { id } of await live(engine.current)) await engine.current.approvals.withdraw(id, 'engine');
});

test('no means no, and so does a question that was withdrawn', async () => {
  const { token } = await newBot();
  const waiting = gate({ tool: 'file.remove', path: 'docs' }, token);
  await expect.poll(() => live(engine.current)).toHaveLength(1);
  const [asked] = await live(engine.current);
  await answer(engine.current, asked!.id, 'reject', 'keep them');
  expect((await waiting).body).toMatchObject({ verdict: 'deny', note: 'keep them' });
  const second = gate({ tool: 'file.remove', path: 'src' }, token);
  await expect.poll(() => live(engine.current)).toHaveLength(1);
  await engine.current.approvals.withdraw((await live(engine.current))[0]!.id, 'engine');
  expect((await second).body).toMatchObject({ verdict: 'deny', rule: 'the question was withdrawn (engine)' });
});

test('what waits outlives a restart for whoever asks again, and is withdrawn for whoever cannot', async () => {
  const { token, address } = await newBot();
  const ask = { tool: 'shell.exec', command: 'terraform apply', waitSeconds: 0 };
  const first = await gate(ask, token);
  const lost = await engine.current.approvals.ask({
    source: 'executor',
    kind: 'tool_call',
    title: 'x',
    summary: 'x',
    risk: 'low',
    agentId: null,
    actionHash: '0',
    expiresInMs: 60_000,
  });
  await engine.current.restart();
  expect((await engine.current.approvals.get(lost.id))?.approval).toMatchObject({
    state: 'resolved',
    decision: null,
    resolvedBy: { surface: 'engine' },
  });
  expect(await answer(engine.current, lost.id, 'approve')).toBe('gone');
  await answer(engine.current, first.body.approvalId!, 'approve');
  expect((await gate(ask, await engine.current.botToken(address))).body).toMatchObject({
    verdict: 'allow',
    approvalId: first.body.approvalId,
  });
});
