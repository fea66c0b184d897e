/** Every operation of the client against a real server, from Node and from a page in Chromium; the server cuts each stream short. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright';
import { build } from 'vite';
import { expect, test } from 'vitest';
import { ComputerUseClient } from '../../src/client/computer-use.ts';
import { AppError } from '../../src/contracts/common/errors.ts';
import type { Run, RunEvent, RunEventType, Session } from '../../src/contracts/computer-use/run.ts';
import { approveRun, runRoutes } from '../../src/contracts/computer-use/run-routes.ts';
import { type BoundRoute, bind } from '../../src/kit/http/types.ts';
import { at, run } from '../cloud-api/computer-use/support.ts';
import { ownerToken, serve } from '../kit/http/support.ts';

const route = <Op extends (typeof runRoutes)[number]['op']>(op: Op) =>
  runRoutes.find((one) => one.op === op) as Extract<(typeof runRoutes)[number], { op: Op }>;
const session: Session = {
  session_id: 'session_1',
  status: 'open',
  target_scope: 'browser',
  browser: null,
  metadata: {},
  created_at: at,
  last_used_at: at,
  run_ids: ['run_1'],
};
const question: Run['approval'] = {
  id: 'apr_00000001',
  action_hash: 'h',
  member: 'left_click',
  toolset: 'browser',
  risk: 'high',
  confirmation_class: 'none',
  approve_url: '/inbox',
  approver: 'owner',
  requested_at: at,
  words: 'Click “Pay”',
};

/** One run that asks once and ends after the answer. */
async function startRuns() {
  const seen: string[] = [];
  let current = run('run_1');
  const events: RunEvent[] = [];
  let wake = new Set<() => void>();
  const tell = (...types: RunEventType[]) => {
    for (const event_type of types) {
      events.push({ index: events.length, event_type, run_id: 'run_1', at, message: event_type, data: {} });
    }
    const waiting = wake;
    wake = new Set();
    for (const go of waiting) go();
  };
  const known = (runId: string) => {
    if (runId === 'run_1') return;
    throw new AppError('not_found', 'There is no such run.', 'List them.', { wireCode: 'run_not_found' });
  };
  const moved = (status: Run['status']) => {
    current = { ...current, status };
    return { body: current };
  };
  const routes: BoundRoute[] = [
    bind(route('executeRun'), ({ body }) => {
      seen.push(JSON.stringify(body));
      current = run('run_1', { mode: body.mode, task: body.task ?? null });
      if (events.length === 0) tell('run.started', 'step.started', 'action.started');
      return { status: 202 as const, body: current };
    }),
    bind(route('getComputerUseRun'), ({ params }) => {
      known(params.runId);
      return { body: current };
    }),
    bind(route('listComputerUseRuns'), ({ query }) => {
      seen.push(`list ${query.session_id} ${query.status}`);
      return { body: { runs: [current], next_cursor: null } };
    }),
    bind(route('listComputerUseEventsShort'), ({ query: { after_index = -1 } }) => ({
      body: { events: events.filter(({ index }) => index > after_index), next_cursor: null },
    })),
    bind(route('streamComputerUseRunShort'), async ({ params, request }, sink) => {
      known(params.runId);
      const last = request.headers['last-event-id'];
      seen.push(`stream after ${last ?? 'nothing'}`);
      sink.open();
      let next = last === undefined ? 0 : Number(last) + 1;
      // Two events and the connection is over: a network that does its worst.
      for (let given = 0; given < 2 && !sink.signal.aborted; ) {
        const event = events[next];
        if (event !== undefined) {
          sink.send({ id: String(event.index), data: event });
          next += 1;
          given += 1;
          if (event.event_type === 'run.ended') break;
        } else if (events.at(-1)?.event_type === 'run.ended') break;
        else {
          await new Promise<void>((resolve) => {
            wake.add(resolve);
            sink.signal.addEventListener('abort', () => resolve(), { once: true });
          });
        }
      }
      sink.close();
    }),
    bind(route('cancelComputerUseRunShort'), ({ body }) => {
      seen.push(`cancel ${body?.comment}`);
      return { body: current };
    }),
    bind(route('pauseComputerUseRunShort'), () => {
      const answer = moved('paused');
      current = { ...current, status: 'awaiting_approval', approval: question };
      tell('run.paused', 'approval.required');
      return answer;
    }),
    bind(route('resumeComputerUseRunShort'), () => moved('running')),
    bind(approveRun, ({ params, body }) => {
      known(params.runId);
      seen.push(`approve ${body.decision}`);
      current = { ...current, status: 'completed', approval: null, finished_at: at };
      tell('approval.resolved', 'run.completed', 'run.ended');
      return { body: current };
    }),
    bind(route('createComputerUseSession'), ({ body }) => ({ body: { ...session, metadata: body?.metadata ?? {} } })),
    bind(route('getComputerUseSession'), () => ({ body: session })),
    bind(route('listComputerUseSessions'), () => ({ body: { sessions: [session] } })),
    bind(route('closeComputerUseSession'), ({ query }) => {
      seen.push(`close ${query.cleanup}`);
      return { body: { ...session, status: 'closed' as const } };
    }),
  ];
  const web = await serve({
    routes,
    owners: { 'computer-use-run': () => true, 'computer-use-session': () => true },
    idempotency: { once: (_request, work) => work(null) },
  });
  return { seen, origin: `http://127.0.0.1:${web.port}` };
}

/** Runs in Node and, as text, in a page: nothing of this file may be used within. */
async function exercise(client: ComputerUseClient) {
  const opened = await client.createSession({ metadata: { note: 'n' } });
  const action = { toolset: 'browser' as const, member: 'screenshot' };
  const { run_id } = await client.executeDirect([action], { session_id: opened.session_id, max_steps: 3 });
  const indexes: number[] = [];
  const all = client.subscribeToRun(run_id, (event) => indexes.push(event.index));
  const late: number[] = [];
  const some = client.subscribeToRun(run_id, (event) => late.push(event.index), { afterIndex: 2 });
  const asked = client.waitForApproval(run_id);
  const paused = await client.pauseRun(run_id, { comment: 'look' });
  const { id, words } = await asked;
  const waited = client.waitForRun(run_id);
  await client.approve(run_id, { decision: 'approve', approval_id: id });
  const [ended] = await Promise.all([waited, all.ended, some.ended]);
  // Begun after the last event, it ends by itself.
  await client.subscribeToRun(run_id, () => {}, { afterIndex: 7 }).ended;
  const nothing = await client.waitForApproval(run_id).catch((fault: AppError) => fault.options.wireCode);
  const foreign = await client.waitForRun('run_x').catch((fault: AppError) => fault.options.wireCode);
  const later = [
    (await client.executeIntent('t', { model: 'm' })).mode,
    (await client.executeAssist('t')).mode,
    (await client.execute({ mode: 'direct', actions: [action] })).mode,
  ];
  return {
    note: opened.metadata.note,
    paused: paused.status,
    words,
    indexes,
    late,
    ended: ended.status,
    nothing,
    foreign,
    later,
    resumed: (await client.resumeRun(run_id)).status,
    cancelled: (await client.cancelRun(run_id, { comment: 'c' })).run_id,
    events: (await client.getRunEvents(run_id, 5)).events.length,
    runs: (await client.listRuns('session_1', 'completed')).runs.length,
    got: [(await client.getRun(run_id)).run_id, (await client.getSession('session_1')).status],
    sessions: (await client.listSessions()).sessions.length,
    closed: (await client.closeSession('session_1', true)).status,
  };
}

const expected: Awaited<ReturnType<typeof exercise>> = {
  note: 'n',
  paused: 'paused',
  words: 'Click “Pay”',
  indexes: [0, 1, 2, 3, 4, 5, 6, 7],
  late: [3, 4, 5, 6, 7],
  ended: 'completed',
  nothing: 'no_pending_approval',
  foreign: 'run_not_found',
  later: ['intent', 'assist', 'direct'],
  resumed: 'running',
  cancelled: 'run_1',
  events: 2,
  runs: 1,
  got: ['run_1', 'open'],
  sessions: 1,
  closed: 'closed',
};

function seesAll(seen: readonly string[]): void {
  expect(seen[0]).toBe(
    '{"mode":"direct","session_id":"session_1","actions":[{"toolset":"browser","member":"screenshot"}],"options":{"max_steps":3}}',
  );
  expect(seen).toContain('{"mode":"intent","task":"t","options":{"model":"m"}}');
  expect(seen).toEqual(
    expect.arrayContaining(['stream after nothing', 'stream after 2', 'stream after 3', 'approve approve', 'cancel c']),
  );
  expect(seen).toEqual(expect.arrayContaining(['list session_1 completed', 'close true']));
}

test('every operation does what it says from Node, and a stream that is cut gives each event once', async () => {
  const { seen, origin } = await startRuns();
  expect(await exercise(new ComputerUseClient({ baseUrl: origin, token: ownerToken }))).toEqual(expected);
  seesAll(seen);
});

const executablePath = process.env.GANTRY_CHROMIUM ?? '/usr/bin/chromium';
const noBrowser = existsSync(executablePath) ? '' : ` (skipped: there is no ${executablePath})`;

test.skipIf(noBrowser !== '')(`the same from a page in a browser${noBrowser}`, async () => {
  const { seen, origin } = await startRuns();
  const entry = join(import.meta.dirname, '..', '..', 'src', 'client', 'computer-use.ts');
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, minify: false, lib: { entry, formats: ['iife'], name: 'gantry' } },
  })) as unknown as readonly { output: readonly { code: string }[] }[];
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    await page.route(`${origin}/page`, (asked) => asked.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    await page.goto(`${origin}/page`);
    await page.addScriptTag({ content: built[0]!.output[0]!.code });
    const client = `new gantry.ComputerUseClient({ token: ${JSON.stringify(ownerToken)} })`;
    expect(await page.evaluate(`(${exercise.toString()})(${client})`)).toEqual(expected);
    seesAll(seen);
  } finally {
    await browser.close();
  }
});
