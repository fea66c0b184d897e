import { expect, test } from 'vitest';
import { closedNodeStatuses, nodeCauses, nodeStatuses } from '../../../src/contracts/factory/node.ts';
import { runStatuses } from '../../../src/contracts/factory/workflow.ts';
import { nodeMoves, runMoves } from '../../../src/runtime-server/workflows/model.ts';
import { loadRun } from '../../../src/runtime-server/workflows/store/runs.ts';
import { createWork } from '../../../src/runtime-server/workflows/work.ts';
import { openWorld, owner, steps } from './support.ts';

test('every move of the table is possible, and no other', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { wait_gate: { kind: 'manual' } } }));
  const { dagId } = await world.run('t');
  const botRuns = { moved() {}, asked: () => false };
  const events = { needsUser() {}, ended() {} };
  const ways = { ledger: world.ledger, botRuns, events, enqueue: () => {}, check: () => {}, pollGate: () => {} };
  for (const from of nodeStatuses) {
    for (const to of nodeStatuses) {
      const moved = await world.store
        .write((tx) => {
          const run = loadRun(tx, `${world.folder}/workspace`, dagId);
          const node = run?.byStep.get('a');
          if (run === null || node === undefined) throw new Error('no run');
          node.status = from;
          createWork(ways, tx, run, 0, owner).move(node, to, 'created');
          return true;
        })
        .catch((error: Error) => error.message.includes(`cannot go from ${from} to ${to}`) && 'refused');
      expect(moved, `${from} → ${to}`).toBe(nodeMoves[from].includes(to) ? true : 'refused');
    }
  }
});

test('every status can be reached, and from every open one a run can come to its end', () => {
  const reach = <S extends string>(moves: Readonly<Record<S, readonly S[]>>, start: S): Set<S> => {
    const seen = new Set<S>([start]);
    for (const status of seen) for (const next of moves[status]) seen.add(next);
    return seen;
  };
  expect([...reach(nodeMoves, 'new')].sort()).toEqual([...nodeStatuses].sort());
  expect([...reach(runMoves, 'running')].sort()).toEqual([...runStatuses].sort());
  for (const status of nodeStatuses) {
    const ends = closedNodeStatuses.some((closed) => reach(nodeMoves, status).has(closed));
    expect(ends, status).toBe(true);
  }
});

test('every cause is said in words', () => {
  for (const [cause, words] of Object.entries(nodeCauses)) expect(words.length, cause).toBeGreaterThan(3);
});
