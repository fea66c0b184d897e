/** The store of approvals: one suite for every database it runs on. */
import { describe, expect, test } from 'vitest';
import { approvalMigrations } from '../../src/cloud-api/approvals/index.ts';
import {
  type ApprovalMove,
  type ApprovalPhase,
  type ApprovalRow,
  approvalMoves,
  phaseOf,
  refusal,
} from '../../src/cloud-api/approvals/model.ts';
import { type ApprovalStore, createApprovalStore } from '../../src/cloud-api/approvals/store.ts';
import type { ApprovalReport } from '../../src/contracts/approvals/approval.ts';
import { iso } from '../../src/kit/clock/clock.ts';
import { answered } from '../../src/kit/store/answered.ts';
import type { SharedStore } from '../../src/kit/store/shared-store.ts';
import { engines } from '../support/engines.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const owner = { userId: 'user_1', computerId: 'computer_1' };
const report = (change: Partial<ApprovalReport> = {}): ApprovalReport => ({
  kind: 'tool_call',
  title: 'Push',
  summary: 'git push\n'.repeat(1000),
  risk: 'high',
  source: 'executor',
  agentId: 'agent_1',
  dagId: 'dag_1',
  nodeId: 'node_1',
  requestedAt: iso(now),
  expiresAt: iso(now + 60_000),
  engineId: 'engine_1',
  ledgerId: '42',
  ...change,
});

describe.each(engines)('approvals on $name', ({ place }) => {
  async function approvals(): Promise<ApprovalStore & { readonly effects: string[]; readonly raw: SharedStore }> {
    const store = await (await place()).open(approvalMigrations);
    return { ...createApprovalStore(store), effects: [], raw: store };
  }
  const answer = (id: string, surface: string, more: object = {}) => ({
    id,
    userId: 'user_1',
    decision: 'approve' as const,
    note: 'fine',
    surface,
    now: now + 1,
    ...more,
  });
  const nothing = () => answered(undefined);
  const rowOf = (put: Awaited<ReturnType<ApprovalStore['put']>>): ApprovalRow => {
    if (put === 'foreign') throw new Error('It is another computer’s.');
    return put.row;
  };

  test('a question is kept as it was first said, however often it comes', async () => {
    const store = await approvals();
    const first = await store.put('apr_1', report(), owner);
    expect(first).toMatchObject({
      change: 'requested',
      row: { summary: report().summary, ledgerId: '42', state: 'pending' },
    });
    const again = await store.put('apr_1', report({ title: 'Something else', ledgerId: '43' }), owner);
    expect(again).toEqual({ change: 'nothing', row: rowOf(first) });
  });

  test('an id of another person or another computer is foreign, and stays as it was', async () => {
    const store = await approvals();
    const { row } = (await store.put('apr_1', report(), owner)) as { row: ApprovalRow };
    const withdrawn = { surface: 'pane', at: iso(now) };
    for (const other of [
      { ...owner, userId: 'user_2' },
      { ...owner, computerId: 'computer_2' },
    ]) {
      expect(await store.put('apr_1', report({ withdrawn }), other)).toBe('foreign');
    }
    expect(await store.get('apr_1')).toEqual(row);
    expect(await store.resolve(answer('apr_1', 'cli', { userId: 'user_2' }), nothing)).toBeNull();
    expect(await store.list({ userId: 'user_2', now })).toEqual([]);
  });

  test('of many answers at once one wins, and its effect is in its transaction', async () => {
    const store = await approvals();
    await store.put('apr_1', report(), owner);
    const surfaces = ['cli', 'browser', 'push', 'text', 'cli'];
    const outcomes = await Promise.all(
      surfaces.map((surface) =>
        store.resolve(answer('apr_1', surface), (tx, row) => {
          tx.afterCommit(() => store.effects.push(row.id));
          return answered(undefined);
        }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome?.won)).toHaveLength(1);
    expect(store.effects).toEqual(['apr_1']);
    const winner = outcomes.find((outcome) => outcome?.won)!.row;
    for (const outcome of outcomes) expect(outcome!.row).toEqual(winner);
    expect(await store.get('apr_1')).toEqual(winner);
  });

  test('an effect that fails takes its answer back with it', async () => {
    const store = await approvals();
    await store.put('apr_1', report(), owner);
    const broken = () => {
      throw new Error('no room');
    };
    await expect(store.resolve(answer('apr_1', 'cli'), broken)).rejects.toThrow('no room');
    expect(await store.get('apr_1')).toMatchObject({ state: 'pending', decision: null });
    expect(await store.resolve(answer('apr_1', 'push'), nothing)).toMatchObject({ won: true });
  });

  test('an answer counts until the moment it expires, and not after', async () => {
    const store = await approvals();
    await store.put('apr_1', report(), owner);
    await store.put('apr_2', report(), owner);
    expect(await store.resolve(answer('apr_1', 'cli', { now: now + 60_000 }), nothing)).toMatchObject({ won: false });
    expect(await store.resolve(answer('apr_2', 'cli', { now: now + 59_999 }), nothing)).toMatchObject({ won: true });
    expect(await store.list({ userId: 'user_1', state: 'pending', now: now + 59_999 })).toHaveLength(1);
    expect(await store.list({ userId: 'user_1', state: 'pending', now: now + 60_000 })).toEqual([]);
    expect(await store.list({ userId: 'user_1', now: now + 60_000 })).toHaveLength(2);
  });

  test('a withdrawal ends it once, also when it is the first that is heard of it, and never undoes an answer', async () => {
    const store = await approvals();
    const withdrawn = { surface: 'pane', at: iso(now + 5) };
    await store.put('apr_1', report(), owner);
    const ended = await store.put('apr_1', report({ withdrawn }), owner);
    expect(ended).toMatchObject({
      change: 'resolved',
      row: { decision: null, resolvedSurface: 'pane', resolvedAt: now + 5 },
    });
    expect(await store.put('apr_1', report({ withdrawn: { surface: 'engine', at: iso(now + 9) } }), owner)).toEqual({
      change: 'nothing',
      row: rowOf(ended),
    });
    expect(await store.put('apr_2', report({ withdrawn }), owner)).toMatchObject({ change: 'resolved' });
    // The question arrives after its withdrawal.
    expect(await store.put('apr_2', report(), owner)).toMatchObject({ change: 'nothing', row: { state: 'resolved' } });
    await store.put('apr_3', report(), owner);
    await store.resolve(answer('apr_3', 'cli'), nothing);
    expect(await store.put('apr_3', report({ withdrawn }), owner)).toMatchObject({
      change: 'nothing',
      row: { decision: 'approve', resolvedSurface: 'cli' },
    });
  });

  test('when a computer acted on the answer is noted once', async () => {
    const store = await approvals();
    await store.put('apr_1', report(), owner);
    await store.raw.write((tx) => store.applied(tx, 'apr_1', now + 7));
    await store.raw.write((tx) => store.applied(tx, 'apr_1', now + 9));
    expect((await store.get('apr_1'))?.appliedAt).toBe(now + 7);
  });

  test('what expired long ago is forgotten, whatever became of it; what can still be answered never is', async () => {
    const store = await approvals();
    for (const id of ['apr_1', 'apr_2', 'apr_3']) await store.put(id, report(), owner);
    await store.put('apr_4', report({ expiresAt: iso(now + 3_600_000_000) }), owner);
    await store.resolve(answer('apr_2', 'cli'), nothing);
    await store.forget(Date.parse(report().expiresAt));
    expect(await store.list({ userId: 'user_1', now })).toHaveLength(4);
    await store.forget(Date.parse(report().expiresAt) + 1);
    expect((await store.list({ userId: 'user_1', now })).map(({ id }) => id)).toEqual(['apr_4']);
  });

  test('lists are newest first, by state, within the limit', async () => {
    const store = await approvals();
    for (const n of [1, 2, 3]) await store.put(`apr_${n}`, report({ requestedAt: iso(now + n) }), owner);
    await store.resolve(answer('apr_2', 'cli'), nothing);
    const ids = async (more: object) =>
      (await store.list({ userId: 'user_1', now: now + 10, ...more })).map(({ id }) => id);
    expect(await ids({})).toEqual(['apr_3', 'apr_2', 'apr_1']);
    expect(await ids({ state: 'pending' })).toEqual(['apr_3', 'apr_1']);
    expect(await ids({ state: 'resolved' })).toEqual(['apr_2']);
    expect(await ids({ limit: 1 })).toEqual(['apr_3']);
  });

  test('every move of the table does what it says in every phase', async () => {
    const store = await approvals();
    let count = 0;
    const inPhase = async (phase: ApprovalPhase): Promise<ApprovalRow> => {
      count += 1;
      const id = `apr_${count}`;
      const row = rowOf(await store.put(id, report(phase === 'expired' ? { expiresAt: iso(now) } : {}), owner));
      return phase === 'resolved' ? (await store.resolve(answer(id, 'cli'), nothing))!.row : row;
    };
    const moves: Record<ApprovalMove, (id: string) => Promise<unknown>> = {
      resolve: (id) => store.resolve(answer(id, 'push'), nothing),
      withdraw: (id) => store.put(id, report({ withdrawn: { surface: 'pane', at: iso(now + 1) } }), owner),
    };
    for (const phase of Object.keys(approvalMoves) as ApprovalPhase[]) {
      for (const move of Object.keys(moves) as ApprovalMove[]) {
        const before = await inPhase(phase);
        expect(phaseOf(before, now + 1)).toBe(phase);
        await moves[move](before.id);
        const after = (await store.get(before.id))!;
        const outcome = approvalMoves[phase][move];
        if (outcome === 'resolved') expect([phase, move, after.state]).toEqual([phase, move, 'resolved']);
        else expect([phase, move, after]).toEqual([phase, move, before]);
        const refused = refusal(before, now + 1)?.status ?? null;
        if (move === 'resolve')
          expect([phase, refused]).toEqual([
            phase,
            { resolved: null, answered: 409, expired: 410, nothing: null }[outcome],
          ]);
      }
    }
  });
});
