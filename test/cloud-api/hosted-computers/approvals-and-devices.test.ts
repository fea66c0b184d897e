/** Questions of a hosted computer's executor and who answers them; the live view and control for the person whose project it is. */
import { describe, expect, test } from 'vitest';
import { createDeviceRoutes } from '../../../src/cloud-api/computer-use/index.ts';
import { answerHostedApproval } from '../../../src/contracts/hosted-computers/device.ts';
import { serve } from '../../kit/http/support.ts';
import { engines } from '../../support/engines.ts';
import { type Heard, refusal, result } from './substitute-driver.ts';
import { key, people, startHosted, type TestHosted } from './support.ts';

/** An executor that asks before each call without a grant that was approved. */
function asking({ substitute }: TestHosted) {
  const known = new Map<string, 'pending' | 'approved' | 'denied' | 'used'>();
  const brought: unknown[] = [];
  substitute.settings.answer = ({ path, body }: Heard) => {
    if (!path.endsWith('/toolset')) {
      const answer = answerHostedApproval.body.parse(body);
      brought.push({ path, ...answer });
      known.set('apr_1', answer.decision === 'approve' ? 'approved' : 'denied');
      return { status: 200, body: { state: 'applied' } };
    }
    const state = known.get(String(body.approval_grant));
    if (state === 'denied') return { status: 403, body: refusal('permission_error', 'approval_denied') };
    if (state === 'approved') {
      known.set('apr_1', 'used');
      return { status: 200, body: result() };
    }
    known.set('apr_1', 'pending');
    const approval = {
      id: 'apr_1',
      action_hash: 'hash',
      member: 'javascript_exec',
      toolset: 'browser',
      risk: 'high',
      confirmation_class: 'always',
      approve_url: '/elsewhere',
      approver: 'owner',
    };
    const said = refusal('conflict_error', 'approval_required', 'A person must approve this call first.');
    return { status: 409, body: { ...said, approval, words: 'Run a script on shop.example?', result: result() } };
  };
  return brought;
}

const risky = {
  toolset: 'browser',
  member: 'javascript_exec',
  input: { text: 'the secret' },
  enable: ['javascript_exec'],
};

describe.each(engines)('hosted computers on $name', (engine) => {
  const open = async () => {
    const hosted = await startHosted(engine);
    await hosted.project();
    const { id } = await hosted.create();
    const answer = (decision: string, token: string, apr = 'apr_1') =>
      hosted.send('POST', hosted.at(id, `/approvals/${apr}`), { token, body: { decision } });
    return { ...hosted, id, answer };
  };

  test('nothing of what runs inside is passed on that has another shape, and where to answer is said by the cloud', async () => {
    const hosted = await open();
    const { act, id, substitute } = hosted;
    const answerWith = (status: number, body: unknown) => {
      substitute.settings.answer = () => ({ status, body });
    };
    const said = refusal('conflict_error', 'approval_required', 'Approve this first.');
    const approval = {
      id: 'apr_1',
      action_hash: 'hash',
      member: 'javascript_exec',
      toolset: 'browser',
      risk: 'high',
      confirmation_class: 'always',
      approve_url: 'javascript:alert(1)',
      approver: 'owner',
    };
    answerWith(409, { ...said, approval, more: '<script>' });
    const asked = await act(id, risky);
    expect(asked.approval).toMatchObject({ approve_url: `https://gantry.example/computers?hosted=${id}` });
    expect(asked).not.toHaveProperty('more');
    for (const [status, body] of [
      [409, { ...said, approval: { approve_url: 'javascript:alert(1)' } }],
      [409, { error: { code: '<b>', message: 'x' } }],
      [409, { error: 'no object' }],
      [200, { content: 'no list', approve_url: 'javascript:alert(1)' }],
      [200, null],
    ] as const) {
      answerWith(status, body);
      const answer = await act(id, risky);
      expect(answer).toMatchObject({ status: 503, error: { code: 'computer_unavailable' } });
      expect(JSON.stringify(answer)).not.toContain('javascript:');
    }
  });

  test('a question is passed on and recorded once; the owner answers it, and the call that names it runs once', async () => {
    const hosted = await open();
    const { act, id, answer, send, at, types, meters } = hosted;
    const brought = asking(hosted);
    for (let count = 0; count < 2; count += 1) {
      expect(await act(id, risky)).toMatchObject({
        status: 409,
        error: {
          type: 'conflict_error',
          code: 'approval_required',
          message: 'A person must approve this call first.',
        },
        approval: {
          id: 'apr_1',
          action_hash: 'hash',
          approver: 'owner',
          approve_url: `https://gantry.example/computers?hosted=${id}`,
        },
        result: { is_error: false },
      });
    }
    expect((await send('GET', at(id, '/approvals'))).approvals).toEqual([
      {
        id: 'apr_1',
        member: 'javascript_exec',
        toolset: 'browser',
        risk: 'high',
        words: 'Run a script on shop.example?',
        requested_at: '2026-01-02T03:04:05.000Z',
      },
    ]);
    const granted = { ...risky, approval_grant: 'apr_1' };
    expect((await act(id, granted)).status).toBe(409);
    expect(brought).toEqual([]);
    expect(await answer('approve', key)).toMatchObject({
      status: 403,
      error: { type: 'permission_error', code: 'forbidden' },
    });
    expect((await answer('approve', 'ada', 'apr_2')).status).toBe(404);
    expect(await answer('approve', 'ada')).toMatchObject({
      status: 200,
      id: 'apr_1',
      computer_id: id,
      state: 'approved',
    });
    expect(await answer('deny', 'ada')).toMatchObject({ status: 409, error: { type: 'conflict_error' } });
    expect((await send('GET', at(id, '/approvals'))).approvals).toEqual([]);
    expect((await act(id, granted)).status).toBe(200);
    expect(brought).toEqual([
      { path: '/api/v1/computers/this-device/approvals/apr_1', decision: 'approve', by: 'owner' },
    ]);
    expect((await act(id, granted)).status).toBe(409);
    expect(brought).toHaveLength(1);
    expect((await types(id)).slice(2)).toEqual(['approval.required', 'approval.resolved', 'action.completed']);
    expect((await meters(id)).actions).toBe(1);
    // What was to be done is in no event.
    expect(JSON.stringify((await send('GET', at(id, '/events'))).events)).not.toContain('the secret');
  });

  test('a key answers where the project says so; a denial is told as such, and brought to a computer that slept meanwhile', async () => {
    const hosted = await open();
    const { act, id, answer, send, until, clock, at, types } = hosted;
    const brought = asking(hosted);
    await send('PATCH', '/v1/computer_settings', { token: 'ada', body: { approval_mode: 'api_key' } });
    expect(await act(id, risky)).toMatchObject({ status: 409, approval: { approver: 'api_key' } });
    clock.jump(301_000);
    await until(async () => (await send('GET', at(id))).body.sleeping);
    expect(await answer('deny', key)).toMatchObject({ status: 200, state: 'denied' });
    expect((await send('GET', at(id))).body.sleeping).toBe(true);
    const denied = await act(id, { ...risky, approval_grant: 'apr_1' });
    expect(denied).toMatchObject({ status: 403, error: { type: 'permission_error', code: 'approval_denied' } });
    expect(brought).toMatchObject([{ decision: 'deny', by: 'key:key_1' }]);
    expect((await types(id)).slice(-1)).toEqual(['action.denied']);
  });

  test('a call that names the question of another computer leaves it as it is', async () => {
    const hosted = await open();
    const { act, id, answer, send, at, create, substitute } = hosted;
    asking(hosted);
    await act(id, risky);
    const other = await create();
    const asks = substitute.settings.answer;
    substitute.settings.answer = (heard) =>
      heard.computer === other.id ? { status: 200, body: result() } : asks(heard);
    expect((await act(other.id, { ...risky, approval_grant: 'apr_1' })).status).toBe(200);
    expect((await send('GET', at(id, '/approvals'))).approvals).toHaveLength(1);
    expect((await answer('approve', 'ada')).status).toBe(200);
    expect((await act(id, { ...risky, approval_grant: 'apr_1' })).status).toBe(200);
  });

  test('of two answers at once one holds', async () => {
    const hosted = await open();
    asking(hosted);
    await hosted.act(hosted.id, risky);
    const answers = await Promise.all(['approve', 'deny', 'approve', 'deny'].map((one) => hosted.answer(one, 'ada')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  test('the person of the project takes control and watches; a key, a stranger and a sleeping computer do not', async () => {
    const hosted = await open();
    const { id, substitute, clock, until, send, at, types, meters } = hosted;
    const access = await serve({
      authenticators: [people],
      // Of a person's own computers none is asked here.
      routes: createDeviceRoutes(undefined as never, hosted.hosted.devices).routes,
    });
    const listener = (method: string, rest: string, token = 'ada', body?: unknown) =>
      access.call(method, `/api/v1/computers/${id}${rest}`, { token, body });
    substitute.settings.answer = ({ path }) => ({ status: 200, body: path.endsWith('/toolset') ? result() : { path } });
    for (const token of ['bob', 'ada/compute']) {
      expect([token, (await listener('GET', '/view', token)).status]).toEqual([token, 404]);
    }
    expect((await listener('GET', '/view?browser_session_id=s')).json).toEqual({
      path: '/api/v1/computers/this-device/view?browser_session_id=s',
    });
    expect((await listener('POST', '/control/take')).status).toBe(200);
    expect((await listener('POST', '/control/release', 'ada', { reason: 'done' })).status).toBe(200);
    expect(substitute.heard.at(-1)).toMatchObject({
      body: { reason: 'done' },
      headers: { 'x-gantry-surface': 'browser' },
    });
    const call = { toolset: 'computer', member: 'screenshot', input: {} };
    expect((await listener('POST', '/toolset', 'ada', call)).json).toEqual(result());
    expect((await listener('POST', '/toolset', 'ada', { ...call, toolset: 'x' })).status).toBe(400);
    expect((await meters(id)).actions).toBe(1);
    expect((await types(id)).slice(2)).toEqual(['control.taken', 'control.released', 'action.completed']);
    // A computer that drips bytes holds nobody who takes control.
    substitute.settings.drips = true;
    const asked = substitute.heard.length;
    const dripping = listener('POST', '/control/take').then(
      () => 'answered',
      () => 'cut',
    );
    await expect.poll(() => substitute.heard.length).toBe(asked + 1);
    await clock.advance(330_000);
    expect(await dripping).toBe('cut');
    substitute.settings.drips = false;
    // Letters in percents are the same path, and count the same.
    expect((await listener('POST', '/%74oolset', 'ada', call)).json).toEqual(result());
    expect((await meters(id)).actions).toBe(2);
    // Somebody watches while it falls asleep.
    let ended = false;
    substitute.settings.answer = () => new Promise(() => {});
    const watched = substitute.heard.length;
    void listener('GET', '/view').then(
      () => {},
      () => {
        ended = true;
      },
    );
    await expect.poll(() => substitute.heard.length).toBe(watched + 1);
    clock.jump(301_000);
    await until(async () => (await send('GET', at(id))).body.sleeping);
    await expect.poll(() => ended).toBe(true);
    expect((await listener('GET', '/view')).json).toMatchObject({ error: { code: 'computer_not_running' } });
    expect(substitute.state(id)).toBe('sleeping');
    substitute.settings.answer = () => ({ status: 200, body: {} });
    expect((await listener('POST', '/control/take')).status).toBe(200);
    expect(substitute.state(id)).toBe('running');
    await hosted.projects.change('shop', { hostedDriverEnabled: false });
    expect((await listener('GET', '/view')).json).toMatchObject({ error: { code: 'hosted_driver_disabled' } });
  });
});
