/** Approvals as whoever asks on the computer sees them: one hold, one answer, whoever is away meanwhile. */
import { expect, test } from 'vitest';
import { actionHash } from '../../src/kit/signing/action-hash.ts';
import { askedOfAgent } from '../../src/runtime-server/approvals/holds.ts';
import type { ApprovalAnswer } from '../../src/runtime-server/approvals/index.ts';
import { pending, push, resolve } from './approval-support.ts';
import { scratchHome, startPair } from './support.ts';

test('a question that was answered a moment ago still counts as what its bot waits for', async () => {
  const pair = await startPair({});
  const asks = (since: number, agentId = 'agent_1') => pair.store.read((tx) => askedOfAgent(tx, agentId, since));
  const began = Date.now();
  expect(await asks(began)).toBe(false);
  const asked = await pair.approvals.ask(push);
  await pending(pair);
  expect([await asks(began), await asks(began, 'agent_2')]).toEqual([true, false]);
  await resolve(pair, asked.id, { decision: 'approve' });
  await asked.answer;
  expect([await asks(began), await asks(Date.now() + 60_000)]).toEqual([true, false]);
});

test('a bot in a loop cannot bury the inbox: fifty of its questions wait, and others still ask', async () => {
  const pair = await startPair({});
  const ask = (n: number, agentId = 'agent_1') =>
    pair.approvals.ask({ ...push, agentId, actionHash: actionHash({ n }), dedupeKey: `loop-${agentId}-${n}` });
  const asked = [];
  for (let n = 0; n < 50; n += 1) asked.push(await ask(n));
  await expect(ask(50)).rejects.toMatchObject({ status: 429 });
  // One that waits is joined, not counted again.
  expect((await ask(7)).id).toBe(asked[7]?.id);
  await ask(0, 'agent_2');
  await pair.approvals.withdraw(asked[0]?.id ?? '', 'engine');
  await ask(50);
});

test('nor can a client with a key: fifty of its questions wait, and another client still asks', async () => {
  const pair = await startPair({});
  const ask = (n: number, client: string) =>
    pair.approvals.ask({ ...push, agentId: null, client, actionHash: actionHash({ n }), dedupeKey: `${client}-${n}` });
  const asked = [];
  for (let n = 0; n < 50; n += 1) asked.push(await ask(n, 'user_local/key:k1'));
  await expect(ask(50, 'user_local/key:k1')).rejects.toMatchObject({
    status: 429,
    fact: '50 approvals of this client are already waiting for a person.',
  });
  await ask(0, 'user_local/key:k2');
  await pair.approvals.withdraw(asked[0]?.id ?? '', 'engine');
  await ask(50, 'user_local/key:k1');
});

test('what a person is shown has nothing in it that is not seen, on whatever surface', async () => {
  const pair = await startPair({});
  const summary = 'rm -rf ~\r\u001b]0;x\u0007git \u202estatus\u200b\n\tend';
  await pair.approvals.ask({ ...push, title: 'Run\u202e x\ny', summary });
  expect((await pending(pair))[0]).toMatchObject({
    title: 'Run\\u{202e} x\\ny',
    summary: 'rm -rf ~\\u{d}\\u{1b}]0;x\\u{7}git \\u{202e}status\\u{200b}\n\tend',
  });
});

test('while the cloud is away, what is asked waits here, is shown here, and arrives when it is back', async () => {
  const pair = await startPair({});
  const port = pair.homeCloud.port;
  pair.homeCloud.port = 1;
  const asked = await pair.approvals.ask(push);
  const listed = await pair.callEngine('GET', '/api/factory/approvals');
  expect(listed.json).toMatchObject({ approvals: [{ id: asked.id, state: 'pending' }], waits: expect.any(String) });
  expect((await pair.approvals.get(asked.id))?.waiting).toBe(true);
  expect(await pending(pair, 0)).toEqual([]);
  pair.homeCloud.port = port;
  await pending(pair);
  await expect.poll(async () => (await pair.approvals.get(asked.id))?.waiting).toBe(false);
});

test('several who ask the same under one key share one hold; another action under that key ends it', async () => {
  const pair = await startPair({});
  const keyed = { ...push, dedupeKey: 'tool:agent_1:push' };
  const [first, second] = await Promise.all([pair.approvals.ask(keyed), pair.approvals.ask(keyed)]);
  expect(second.id).toBe(first.id);
  const other = await pair.approvals.ask({
    ...keyed,
    summary: 'git push --force',
    actionHash: actionHash({ force: true }),
  });
  expect(other.id).not.toBe(first.id);
  expect(await first.answer).toEqual({ kind: 'withdrawn', surface: 'engine' });
  expect(await second.answer).toEqual({ kind: 'withdrawn', surface: 'engine' });
  await pending(pair);
  await resolve(pair, other.id, { decision: 'approve' });
  expect(await other.answer).toMatchObject({ kind: 'approve' });
});

test('an asker that stopped waiting finds the answer by asking again, once, and only for the same action', async () => {
  const pair = await startPair({});
  const keyed = { ...push, dedupeKey: 'tool:agent_1:push' };
  const gone = new AbortController();
  const asked = await pair.approvals.ask(keyed, { signal: gone.signal });
  let heard: ApprovalAnswer | null = null;
  void asked.answer.then((answer) => {
    heard = answer;
  });
  gone.abort();
  await pending(pair);
  await resolve(pair, asked.id, { decision: 'approve' });
  await expect.poll(async () => (await pair.approvals.get(asked.id))?.approval.decision).toBe('approve');
  const other = await pair.approvals.ask({ ...keyed, actionHash: actionHash({ other: 1 }) });
  expect(other.id).not.toBe(asked.id);
  await pair.approvals.withdraw(other.id, 'engine');
  const again = await pair.approvals.ask(keyed);
  expect([again.id, await again.answer]).toMatchObject([asked.id, { kind: 'approve' }]);
  const third = await pair.approvals.ask(keyed);
  expect(third.id).not.toBe(asked.id);
  expect(heard).toBeNull();
});

test('what an asker writes by an answer is there exactly when the answer counts', async () => {
  const pair = await startPair({});
  await pair.store.write((tx) => tx.run('CREATE TABLE effect (id TEXT) STRICT'));
  let broken = true;
  const asked = await pair.approvals.ask(push, {
    apply: (tx, verdict) => {
      tx.run('INSERT INTO effect VALUES (?)', verdict.kind);
      if (broken) throw new Error('The asker has a fault.');
    },
  });
  await pending(pair);
  await resolve(pair, asked.id, { decision: 'approve' });
  await expect.poll(() => pair.lines.some((line) => line.message === 'request failed')).toBe(true);
  expect((await pair.approvals.get(asked.id))?.approval.state).toBe('pending');
  broken = false;
  await asked.answer;
  expect(await pair.store.read((tx) => tx.all('SELECT id FROM effect'))).toEqual([{ id: 'approve' }]);
});

test('an answer given while the computer is away reaches it when both are back, and acts once', async () => {
  const home = scratchHome();
  const before = await startPair({ home });
  const keyed = { ...push, dedupeKey: 'gate:dag_1:node_1:1' };
  const asked = await before.approvals.ask(keyed);
  await pending(before);
  await before.stopEngine();
  expect((await resolve(before, asked.id, { decision: 'approve' })).status).toBe(200);
  await before.close();
  const after = await startPair({ home });
  await expect.poll(async () => (await after.approvals.get(asked.id))?.approval.decision).toBe('approve');
  // Decided, but nobody has acted on it until whoever asked is back.
  expect((await after.approvals.get(asked.id))?.approval.appliedAt).toBeNull();
  const again = await after.approvals.ask(keyed);
  expect([again.id, await again.answer]).toMatchObject([asked.id, { kind: 'approve' }]);
  expect((await after.approvals.get(asked.id))?.approval.appliedAt).toMatch(/^20/);
  expect((await after.approvals.ask(keyed)).id).not.toBe(asked.id);
});
