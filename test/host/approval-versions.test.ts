/**
 * Approvals between a computer and a cloud that are not of one version, or whose clocks do not agree: none is lost, each is shown for as
 * long as it can be answered, and the reason is never part of what is approved. Real HTTP, signatures and stores.
 */
import { expect, test } from 'vitest';
import type { ApprovalReport } from '../../src/contracts/approvals/approval.ts';
import { capabilities } from '../../src/contracts/link/knows.ts';
import type { Clock } from '../../src/kit/clock/clock.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import type { CallHome } from '../../src/runtime-server/approvals/index.ts';
import { pending, push, resolve } from './approval-support.ts';
import { movableClock, startPair } from './support.ts';

const minutes = (count: number) => count * 60_000;
const why = { reason: 'only prints the date' };

/** A clock that is so far ahead. */
const ahead = (ms: number): Clock => ({ now: () => systemClock.now() + ms, monotonic: () => systemClock.monotonic() });

/** What an older cloud took: everything else was refused, and so the approval lost. */
function olderCloud(call: CallHome, sent: ApprovalReport[]): CallHome {
  return async (request) => {
    const body = request.body as ApprovalReport;
    sent.push(body);
    if ('reason' in body || 'details' in body || 'remainingMs' in body)
      return { status: 400, body: { error: 'bad_request' } };
    return call(request);
  };
}

test('a reason stands beside the command, and a command that looks like one with a reason has none', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask({ ...push, ...why });
  const [told] = await pending(pair);
  expect(told).toMatchObject({ id: asked.id, summary: push.summary, reason: why.reason });
  const summary = 'rm -rf ~\n\nReason given: only prints the date';
  await pair.approvals.ask({ ...push, actionHash: 'another', summary });
  const forged = (await pending(pair, 2)).find((one) => one.id !== asked.id);
  expect(forged?.summary).toBe(summary);
  expect(forged).not.toHaveProperty('reason');
});

test('where a command runs and with what stands beside it: no command can be worded so, and an older cloud has it all in the command', async () => {
  const details = [{ name: 'Variables', text: 'LD_PRELOAD=./x.so' }];
  const [pair, older] = await Promise.all([
    startPair({}),
    startPair({ held: (call) => ({ call: olderCloud(call, []), knows: () => Promise.resolve(new Set()) }) }),
  ]);
  await pair.approvals.ask({ ...push, details });
  expect(await pending(pair)).toMatchObject([{ summary: push.summary, details }]);
  const summary = `${push.summary}\nVariables: LD_PRELOAD=./x.so`;
  await pair.approvals.ask({ ...push, actionHash: 'another', summary });
  const forged = (await pending(pair, 2)).find((one) => one.summary === summary);
  expect(forged).not.toHaveProperty('details');
  await older.approvals.ask({ ...push, details });
  const [told] = await pending(older);
  expect(told).toMatchObject({ summary });
  expect(told).not.toHaveProperty('details');
});

test('an older cloud is asked in the words that it knows: without a reason, until the last moment', async () => {
  const sent: ApprovalReport[] = [];
  const pair = await startPair({
    held: (call) => ({ call: olderCloud(call, sent), knows: () => Promise.resolve(new Set()) }),
  });
  const asked = await pair.approvals.ask({
    ...push,
    ...why,
    dedupeKey: 'one',
    expiresInMs: minutes(60),
    comesBack: { waitsMs: 50_000, withdrawnAfterMs: minutes(10) },
  });
  const [told] = await pending(pair);
  expect(told).toMatchObject({ id: asked.id, summary: push.summary });
  expect(told).not.toHaveProperty('reason');
  // It cannot be told of a later end: it gets the latest there can be.
  expect(Date.parse(told!.expiresAt) - Date.parse(told!.requestedAt)).toBe(minutes(60));
  expect(sent).toHaveLength(1);
  expect((await resolve(pair, asked.id, { decision: 'approve' })).status).toBe(200);
  expect(await asked.answer).toMatchObject({ kind: 'approve' });
});

test('a cloud of which one replica is older gets the question all the same', async () => {
  const sent: ApprovalReport[] = [];
  const pair = await startPair({
    held: (call) => ({ call: olderCloud(call, sent), knows: () => Promise.resolve(new Set(capabilities)) }),
  });
  const asked = await pair.approvals.ask({ ...push, ...why });
  expect(await pending(pair)).toMatchObject([{ id: asked.id, summary: push.summary }]);
  expect(sent.map((body) => 'reason' in body)).toEqual([true, false]);
});

test('an older computer, which says no remaining time, is shown as it was', async () => {
  const pair = await startPair({
    held: (call) => ({
      knows: () => Promise.resolve(new Set()),
      call: (request) => call(request),
    }),
  });
  const asked = await pair.approvals.ask(push);
  const [told] = await pending(pair);
  expect(told).toMatchObject({ id: asked.id, remainingMs: expect.any(Number) });
  expect(Date.parse(told!.expiresAt) - Date.parse(told!.requestedAt)).toBe(60_000);
});

test.each([
  ['an hour behind', -minutes(60)],
  ['a day behind', -minutes(24 * 60)],
  ['a day ahead', minutes(24 * 60)],
])('a computer whose clock is %s is asked and answered as any other', async (_words, off) => {
  const pair = await startPair({
    clock: ahead(off),
    cloud: { clock: systemClock },
    held: () => ({ cloudAheadMs: () => -off }),
  });
  const waiting = { ...push, expiresInMs: minutes(30), dedupeKey: 'one' };
  const asked = await pair.approvals.ask(waiting);
  const [told] = await pending(pair);
  const left = Date.parse(told!.expiresAt) - Date.now();
  expect(left).toBeGreaterThan(minutes(29));
  expect(left).toBeLessThanOrEqual(minutes(30));
  expect(Math.abs(told!.remainingMs! - left)).toBeLessThan(minutes(1));
  expect(Math.abs(Date.parse(told!.requestedAt) - Date.now())).toBeLessThan(minutes(1));
  expect((await resolve(pair, asked.id, { decision: 'approve' })).status).toBe(200);
  expect(await asked.answer).toMatchObject({ kind: 'approve' });

  // An answer that came while nobody waited is found by whoever asks again, within ten minutes of this computer's clock.
  const leave = new AbortController();
  const left2 = await pair.approvals.ask({ ...waiting, dedupeKey: 'two' }, { signal: leave.signal });
  await pending(pair);
  leave.abort();
  expect((await resolve(pair, left2.id, { decision: 'approve' })).status).toBe(200);
  await expect.poll(async () => (await pair.approvals.live()).length).toBe(0);
  const again = await pair.approvals.ask({ ...waiting, dedupeKey: 'two' });
  expect(again.id).toBe(left2.id);
  expect(await again.answer).toMatchObject({ kind: 'approve' });
});

test('a question of one who comes back says when it is really withdrawn, and lasts when it is asked again', async () => {
  const clock = movableClock();
  const pair = await startPair({ clock });
  const question = {
    ...push,
    dedupeKey: 'gate',
    expiresInMs: minutes(60),
    comesBack: { waitsMs: 50_000, withdrawnAfterMs: minutes(10) },
  };
  const leave = new AbortController();
  const asked = await pair.approvals.ask(question, { signal: leave.signal });
  const [told] = await pending(pair);
  expect(told!.remainingMs).toBeGreaterThan(minutes(10) + 49_000 - 10_000);
  expect(told!.remainingMs).toBeLessThanOrEqual(minutes(10) + 50_000);

  // It leaves early: nobody is told of time that is not left.
  leave.abort();
  const remaining = async () => (await pending(pair))[0]!.remainingMs!;
  await expect.poll(remaining).toBeLessThanOrEqual(minutes(10));

  clock.move(minutes(5));
  const stays = new AbortController();
  const again = await pair.approvals.ask(question, { signal: stays.signal });
  expect(again.id).toBe(asked.id);
  await expect.poll(remaining).toBeGreaterThan(minutes(10));

  clock.move(minutes(11));
  expect((await resolve(pair, asked.id, { decision: 'approve' })).status).toBe(410);
  const late = { id: asked.id, note: null, resolvedBy: { user: 'user_local', surface: 'cli' } };
  const at = new Date(clock.now()).toISOString();
  expect(await pair.approvals.answer({ ...late, decision: 'approve', at })).toBe('gone');
  expect(await again.answer).toEqual({ kind: 'withdrawn', surface: 'engine' });
});
