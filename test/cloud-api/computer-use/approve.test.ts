/** A computer's real approvals desk, the real table of the cloud, and a run that waits for the answer. */
import { expect, test } from 'vitest';
import type { Run } from '../../../src/contracts/computer-use/run.ts';
import { getRun } from '../../../src/contracts/computer-use/run-routes.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { push } from '../../host/approval-support.ts';
import { startPair } from '../../host/support.ts';
import { at, run } from './support.ts';

/** A run whose question can be answered; `ask` puts it. */
async function withRun() {
  let state: Run = run('run_1');
  const pair = await startPair({
    routes: [bind(getRun, () => ({ body: state }))],
    owners: { 'computer-use-run': (_principal, id) => id === 'run_1' },
  });
  const ask = async () => {
    const asked = await pair.approvals.ask({ ...push, source: 'executor', runId: 'run_1' });
    state = run('run_1', {
      status: 'awaiting_approval',
      approval: {
        id: asked.id,
        action_hash: push.actionHash,
        member: 'left_click',
        toolset: 'browser',
        risk: 'medium',
        confirmation_class: 'none',
        approve_url: '/inbox',
        approver: 'owner',
        requested_at: at,
        words: 'Click “Pay”',
      },
    });
    void asked.answer.then(({ kind }) => {
      state = run('run_1', { metadata: { heard: kind } });
    });
    return asked;
  };
  const approve = (body: object, token?: string) =>
    pair.callWeb('POST', '/computer-use/runs/run_1/approve', { body, ...(token === undefined ? {} : { token }) });
  return { pair, ask, approve };
}

test('the answer that a run gets is that of the one table: the run has heard it when it is answered, and nobody answers twice', async () => {
  const { pair, ask, approve } = await withRun();
  const early = await approve({ decision: 'approve' });
  expect([early.status, early.json.error]).toEqual([409, 'no_pending_approval']);
  const asked = await ask();
  const other = await approve({ decision: 'approve', approval_id: 'apr_00000000' });
  expect([other.status, other.json.error]).toEqual([409, 'no_pending_approval']);
  const reply = await approve({ decision: 'approve', approval_id: asked.id, comment: 'go on' });
  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({ run_id: 'run_1', status: 'running', approval: null });
  expect(await asked.answer).toMatchObject({ note: 'go on', by: { surface: 'cli' } });
  // Answered through another door first.
  const second = await ask();
  await expect
    .poll(async () => (await pair.callWeb('GET', '/api/factory/approvals?state=pending')).text)
    .toContain(second.id);
  const won = pair.callWeb('POST', `/api/factory/approvals/${second.id}/resolve`, { body: { decision: 'reject' } });
  const both = await Promise.all([won, approve({ decision: 'approve' })]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
});

test('a key answers no approval while its project’s mode is owner, and a run of nobody is 404', async () => {
  const { pair, ask, approve } = await withRun();
  const asked = await ask();
  const made = await pair.callWeb('POST', '/api/v1/keys', { body: { name: 'hands', scopes: ['compute'] } });
  const { secret } = made.json as unknown as { secret: string };
  const refused = await approve({ decision: 'approve', approval_id: asked.id }, secret);
  expect([refused.status, refused.json.error]).toEqual([403, 'forbidden']);
  expect(await pair.approvals.get(asked.id)).toMatchObject({ approval: { state: 'pending' } });
  const unknown = await pair.callWeb('POST', '/computer-use/runs/run_2/approve', { body: { decision: 'deny' } });
  expect([unknown.status, unknown.json.error]).toEqual([404, 'run_not_found']);
});
