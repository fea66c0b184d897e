import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { callToolset, takeControl } from '../../../src/contracts/computer-use/device-routes.ts';
import {
  cancelRun,
  createSession,
  executeRun,
  getRun,
  getSession,
  listRuns,
  readArtifact,
} from '../../../src/contracts/computer-use/run-routes.ts';
import { type BoundRoute, bind } from '../../../src/kit/http/types.ts';
import { untilLinked } from '../../support/link.ts';
import { at, run, startCloud, startComputer } from './support.ts';

/** A computer that has one run, and says who asked what of it. */
function having(letter: string, runId: string, seen: string[]): BoundRoute[] {
  const known = (id: string) => {
    seen.push(`${letter} ${id}`);
    if (id !== runId) {
      throw new AppError('not_found', `There is no run "${id}".`, 'List them.', { wireCode: 'run_not_found' });
    }
  };
  return [
    bind(getRun, ({ params }) => {
      known(params.runId);
      return { body: run(params.runId) };
    }),
    bind(cancelRun, ({ params, body }) => {
      known(params.runId);
      return { body: run(params.runId, { status: 'cancelling', metadata: { ...body } }) };
    }),
    bind(readArtifact, ({ params, response }) => {
      known(params.runId);
      if (params.artifactId !== 'art_1') {
        throw new AppError('not_found', 'There is no artifact.', '', { wireCode: 'artifact_not_found' });
      }
      response.writeHead(200, { 'content-type': 'image/png' }).end('png');
    }),
    bind(executeRun, ({ body }) => {
      seen.push(`${letter} execute`);
      return { status: 202 as const, body: run(body.run_id ?? runId, { task: body.task ?? null }) };
    }),
    bind(createSession, ({ body }) => {
      seen.push(`${letter} session`);
      return {
        body: {
          session_id: `session_${letter}`,
          status: 'open' as const,
          target_scope: 'auto' as const,
          browser: null,
          metadata: body?.metadata ?? {},
          created_at: at,
          last_used_at: at,
          run_ids: [],
        },
      };
    }),
    bind(listRuns, () => ({ body: { runs: [run(runId)], next_cursor: null } })),
  ];
}

test('a run that the default computer does not know is found on another one of the caller, for reads, writes and bytes alike', async () => {
  const rig = await startCloud();
  const seen: string[] = [];
  await startComputer(rig, 'a', having('a', 'run_a', seen));
  await startComputer(rig, 'b', having('b', 'run_b', seen));
  await startComputer(rig, 'c', having('c', 'run_c', seen));
  const get = (path: string, token = 'ada', headers = {}) => rig.web.call('GET', path, { token, headers });
  expect((await get('/computer-use/runs/run_b')).json).toMatchObject({ run_id: 'run_b' });
  expect(seen).toEqual(['a run_b', 'b run_b']);
  const cancelled = await rig.web.call('POST', '/computer-use/runs/run_b/cancel', {
    token: 'ada',
    body: { comment: 'enough' },
  });
  expect(cancelled.json).toMatchObject({ status: 'cancelling', metadata: { comment: 'enough' } });
  expect((await get('/computer-use/runs/run_b/artifacts/art_1')).text).toBe('png');
  const noArtifact = await get('/computer-use/runs/run_b/artifacts/art_2');
  expect([noArtifact.status, noArtifact.json.error]).toEqual([404, 'artifact_not_found']);
  // Another person's computer is never asked.
  const foreign = await get('/computer-use/runs/run_c');
  expect([foreign.status, foreign.json.error]).toEqual([404, 'run_not_found']);
  expect(foreign.json.message).toBe('There is no run "run_c". List them.');
  expect(seen.filter((one) => one.startsWith('c'))).toEqual([]);
  // One that is named is asked alone.
  seen.length = 0;
  expect((await get('/computer-use/runs/run_b', 'ada', { 'x-gantry-computer': 'computer_a' })).status).toBe(404);
  expect(seen).toEqual(['a run_b']);
});

test('computer_id in the body says where a run or a session begins; a computer of nobody or of another is 404', async () => {
  const rig = await startCloud();
  const seen: string[] = [];
  await startComputer(rig, 'a', having('a', 'run_a', seen));
  await startComputer(rig, 'b', having('b', 'run_b', seen));
  const post = (path: string, body: object) => rig.web.call('POST', path, { token: 'ada', body });
  const direct = { mode: 'direct', actions: [{ toolset: 'browser', member: 'screenshot' }] };
  expect((await post('/computer-use/execute', direct)).status).toBe(202);
  expect((await post('/computer-use/execute', { ...direct, computer_id: 'cc_b' })).json).toMatchObject({
    run_id: 'run_b',
  });
  expect((await post('/computer-use/sessions', { computer_id: 'computer_b' })).json).toMatchObject({
    session_id: 'session_b',
  });
  expect(seen).toEqual(['a execute', 'b execute', 'b session']);
  for (const computer_id of ['computer_c', 'computer_x']) {
    const reply = await post('/computer-use/execute', { ...direct, computer_id });
    expect([reply.status, reply.json.error]).toEqual([404, 'computer_not_found']);
    expect(reply.json.message).toContain('this-device');
  }
  const hosted = await post('/computer-use/execute', { ...direct, computer_id: 'cmp_0123456789' });
  expect([hosted.status, hosted.json.error]).toEqual([400, 'invalid_request']);
  // What is wrong with a body the computer says.
  const junk = await rig.web.call('POST', '/computer-use/execute', { token: 'ada', raw: '{"mode":' });
  expect([junk.status, junk.json.error]).toEqual([400, 'bad_request']);
});

test('a run on a computer that is here is found while the default one is away, and one that nobody has says what the default one said', async () => {
  const rig = await startCloud();
  const a = await startComputer(rig, 'a', having('a', 'run_a', []));
  await startComputer(rig, 'b', having('b', 'run_b', []));
  await a.dialer.stop();
  await untilLinked(rig.cloud.dialIns, a.id, false);
  const get = (path: string) => rig.web.call('GET', path, { token: 'ada' });
  expect((await get('/computer-use/runs/run_b')).status).toBe(200);
  for (const path of ['/computer-use/runs/run_a', '/computer-use/runs']) {
    const reply = await get(path);
    expect([path, reply.status, reply.json.error]).toEqual([path, 503, 'computer_unavailable']);
  }
});

test('a session that is elsewhere is where the run begins, with the body as it was', async () => {
  const rig = await startCloud();
  const of = (letter: string, mine: string) => [
    bind(executeRun, ({ body }) => {
      if (body.session_id !== mine) {
        throw new AppError('not_found', 'There is no such session.', '', { wireCode: 'session_not_found' });
      }
      return { status: 202 as const, body: run(`run_${letter}`, { task: body.task ?? null }) };
    }),
    bind(getSession, () => {
      throw new AppError('not_found', 'There is no such session.', '', { wireCode: 'session_not_found' });
    }),
  ];
  await startComputer(rig, 'a', of('a', 'session_a'));
  await startComputer(rig, 'b', of('b', 'session_b'));
  const body = { mode: 'intent', task: 'Füll das Formular aus', session_id: 'session_b' };
  const reply = await rig.web.call('POST', '/computer-use/execute', { token: 'ada', body });
  expect([reply.status, reply.json]).toMatchObject([202, { run_id: 'run_b', task: body.task }]);
  const none = await rig.web.call('GET', '/computer-use/sessions/session_x', { token: 'ada' });
  expect([none.status, none.json.error]).toEqual([404, 'session_not_found']);
});

test('device routes reach this device, a computer by either id, and a hosted one through its own area', async () => {
  const passed: string[] = [];
  const rig = await startCloud(async (id, path, { response }) => {
    passed.push(`${id} ${path}`);
    response.writeHead(200).end('hosted');
  });
  const seen: string[] = [];
  const of = (letter: string) => [
    bind(callToolset, ({ params, body, principal }) => {
      seen.push(`${letter} ${params.id} ${body.member} ${principal.userId}`);
      const screen = { width: 10, height: 10, scale: 1, frame_width: 10, frame_height: 10 };
      return { body: { is_error: false, content: [], screen } };
    }),
    bind(takeControl, () => ({ body: { holder: { kind: 'person' as const, id: letter }, since: at, expires_at: at } })),
  ];
  await startComputer(rig, 'a', of('a'));
  await startComputer(rig, 'b', of('b'));
  const body = { toolset: 'browser', member: 'screenshot', input: {} };
  const call = (id: string, headers = {}) =>
    rig.web.call('POST', `/api/v1/computers/${id}/toolset`, { token: 'ada', body, headers });
  for (const reply of [
    await call('this-device'),
    await call('this-device', { 'x-gantry-computer': 'cc_b' }),
    await call('computer_b'),
    await call('cc_a'),
  ]) {
    expect(reply.status).toBe(200);
  }
  expect(seen).toEqual(['a', 'b', 'b', 'a'].map((letter) => `${letter} this-device screenshot user_local`));
  const taken = await rig.web.call('POST', '/api/v1/computers/computer_b/control/take', { token: 'ada' });
  expect(taken.json).toMatchObject({ holder: { id: 'b' } });
  expect((await call('cmp_0123456789')).text).toBe('hosted');
  expect(passed).toEqual(['cmp_0123456789 /api/v1/computers/this-device/toolset']);
  const foreign = await call('computer_c');
  expect([foreign.status, foreign.json.error]).toEqual([
    404,
    { type: 'not_found_error', code: 'computer_not_found', message: expect.any(String), param: null },
  ]);
});
