/** What is read of runs: lists, events, streams, artifacts, sessions; and what a restart leaves. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run, RunEvent, Session } from '../../../../src/contracts/computer-use/run.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { retentionMs } from '../../../../src/runtime-server/computer-use/runs/retention.ts';
import { createMemoryGate, done, type MemoryGate } from './memory-gate.ts';
import { eventsIn, linkToken, ownerToken, type RunServer, startRunServer } from './server.ts';

let gate: MemoryGate;
let server: RunServer;
const folder = mkdtempSync(join(tmpdir(), 'gantry-downloads-'));
beforeAll(async () => {
  gate = createMemoryGate();
  server = await startRunServer({ gate });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const navigate = { toolset: 'browser', member: 'navigate', input: { url: 'http://site.test/' } };
const read = { toolset: 'browser', member: 'get_page_text' };
const is = (status: string) => (run: Run) => run.status === status;
const completed = async (request: object): Promise<Run> => {
  const { run_id } = await server.run({ mode: 'direct', ...request });
  return server.until(run_id, is('completed'));
};

/** A run that waits at its `n`th action until it is let go. */
function holdAt(count: number) {
  const gone = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let seen = 0;
  gate.answer = async ({ turn_id }) => {
    if (turn_id === undefined) return null;
    seen += 1;
    if (seen < count) return null;
    reached.resolve();
    await gone.promise;
    gate.answer = () => null;
    return done('held');
  };
  return { reached: reached.promise, go: gone.resolve };
}

test('a stream gives what was and what comes, each once and in order, and ends with the run', async () => {
  const held = holdAt(3);
  const { run_id: id } = await server.run({ mode: 'direct', actions: [navigate, read, navigate, read] });
  await held.reached;
  const early = await server.events(id);
  const readers = [
    server.stream(`/stream/${id}`),
    server.stream(`/computer-use/runs/${id}/stream?after_index=2`),
    server.stream(`/stream/${id}`, { 'last-event-id': '4' }),
    server.stream(`/stream/${id}?after_index=1`, { 'last-event-id': '5' }),
    server.stream(`/stream/${id}?after_index=6`, { 'last-event-id': '1' }),
    server.stream(`/stream/${id}?after_index=${early.length - 1}`),
  ];
  held.go();
  const streams = await Promise.all(readers);
  const all = await server.events(id);
  expect(all.at(-1)!.event_type).toBe('run.ended');
  for (const [place, after] of [-1, 2, 4, 5, 6, early.length - 1].entries()) {
    expect(streams[place]).toEqual(all.slice(after + 1));
  }
});

test('a reader that comes after the end is given what it has not had, at every index, and is let go', async () => {
  const { run_id: id } = await completed({ actions: [navigate] });
  const all = await server.events(id);
  for (let after = -1; after <= all.length; after += 1) {
    expect(await server.stream(`/stream/${id}?after_index=${after}`)).toEqual(all.slice(after + 1));
  }
});

test('a reader that leaves in the middle and comes back has every event once', async () => {
  const held = holdAt(2);
  const { run_id: id } = await server.run({ mode: 'direct', actions: [navigate, navigate, read] });
  await held.reached;
  const leave = new AbortController();
  const response = await fetch(`${server.url}/stream/${id}`, {
    headers: { authorization: `Bearer ${ownerToken}` },
    signal: leave.signal,
  });
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (eventsIn(text.slice(0, text.lastIndexOf('\n\n') + 2)).length >= 3) break;
  }
  leave.abort();
  const had = eventsIn(text.slice(0, text.lastIndexOf('\n\n') + 2));
  held.go();
  const rest = await server.stream(`/stream/${id}`, { 'last-event-id': String(had.at(-1)!.index) });
  expect([...had, ...rest]).toEqual(await server.events(id));
});

test('events are paged after an index, and a cursor goes on from there', async () => {
  const { run_id: id } = await completed({ actions: [navigate, read] });
  const all = await server.events(id);
  const seen: RunEvent[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body } = await server.call<{ events: RunEvent[]; next_cursor: string | null }>(
      'GET',
      `/computer-use/runs/${id}/events?limit=3&after_index=0${more}`,
    );
    expect(body.events.length).toBeLessThanOrEqual(3);
    seen.push(...body.events);
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(all.slice(1));
  expect(await server.call('GET', `/runs/${id}/events?cursor=rubbish`)).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  });
});

test('runs are listed newest first, by session and by status, a page at a time', async () => {
  const { body: session } = await server.call<Session>('POST', '/computer-use/sessions', { target_scope: 'browser' });
  const ids: string[] = [];
  for (let each = 0; each < 5; each += 1) {
    ids.unshift((await completed({ session_id: session.session_id, actions: [read] })).run_id);
  }
  type Page = { runs: Run[]; next_cursor: string | null };
  const base = `/computer-use/runs?session_id=${session.session_id}&limit=2`;
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const { body }: { body: Page } = await server.call<Page>(
      'GET',
      cursor === null ? base : `${base}&cursor=${cursor}`,
    );
    seen.push(...body.runs.map(({ run_id }) => run_id));
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(seen).toEqual(ids);
  const failed = await server.call<Page>('GET', `${base}&status=failed`);
  expect(failed.body).toEqual({ runs: [], next_cursor: null });
  expect((await server.call<Page>('GET', `${base}&status=completed`)).body.runs).toHaveLength(2);
});

test('a picture is kept once where nothing changed, and is given byte for byte', async () => {
  gate.answer = ({ member }) => (member === 'screenshot' ? done('', 'always the same') : null);
  try {
    const run = await completed({ actions: [navigate, navigate, navigate] });
    expect(run.artifacts.map(({ kind, step }) => [kind, step])).toEqual([['screenshot', 1]]);
    const [artifact] = run.artifacts;
    const response = await fetch(`${server.url}/computer-use/runs/${run.run_id}/artifacts/${artifact!.artifact_id}`, {
      headers: { authorization: `Bearer ${ownerToken}` },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('content-security-policy')).toContain('sandbox');
    expect(await response.text()).toBe('always the same');
    expect(artifact!.size).toBe('always the same'.length);
    const other = await completed({ actions: [read] });
    expect(
      await server.call('GET', `/computer-use/runs/${other.run_id}/artifacts/${artifact!.artifact_id}`),
    ).toMatchObject({ status: 404, body: { error: 'artifact_not_found' } });
  } finally {
    gate.answer = () => null;
  }
});

test('downloads and the video of a recorded run are its artifacts, before its last event', async () => {
  gate.videos = { file: '', make: (file) => writeFileSync(file, 'moving pictures') };
  try {
    const held = holdAt(1);
    const { run_id: id, session_id } = await server.run({
      mode: 'direct',
      actions: [navigate],
      options: { record: true },
    });
    await held.reached;
    const file = join(folder, 'résumé.pdf');
    writeFileSync(file, 'pdf');
    gate.download(session_id, file, 3);
    await server.until(id, ({ artifacts }) => artifacts.some(({ kind }) => kind === 'download'));
    held.go();
    const run = await server.until(id, is('completed'));
    expect(new Set(run.artifacts.map(({ kind }) => kind))).toEqual(new Set(['download', 'screenshot', 'video']));
    expect((await server.events(id)).at(-1)!.event_type).toBe('run.ended');
    const download = run.artifacts.find(({ kind }) => kind === 'download')!;
    const response = await fetch(`${server.url}/computer-use/runs/${id}/artifacts/${download.artifact_id}`, {
      headers: { authorization: `Bearer ${ownerToken}` },
    });
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename*=UTF-8''${encodeURIComponent('résumé.pdf')}`,
    );
    expect(await response.text()).toBe('pdf');
  } finally {
    gate.videos = null;
  }
});

test('a session is used by one run at a time, outlives its runs, and is closed when none of them lives', async () => {
  const created = await server.call<Session>('POST', '/computer-use/sessions', { metadata: { for: 'tests' } });
  expect(created).toMatchObject({
    status: 201,
    body: { status: 'open', browser: null, run_ids: [], metadata: { for: 'tests' } },
  });
  const id = created.body.session_id;
  const held = holdAt(1);
  const first = await server.run({ mode: 'direct', session_id: id, actions: [navigate] });
  await held.reached;
  const busy = { status: 409, body: { error: 'session_busy' } };
  expect(
    await server.call('POST', '/computer-use/execute', { mode: 'direct', session_id: id, actions: [read] }),
  ).toMatchObject(busy);
  expect(await server.call('DELETE', `/computer-use/sessions/${id}?cleanup=true`)).toMatchObject(busy);
  held.go();
  await server.until(first.run_id, is('completed'));
  expect(gate.closed.some(({ session }) => session === id)).toBe(false);
  const second = await completed({ session_id: id, actions: [read] });
  expect((await server.call<Session>('GET', `/computer-use/sessions/${id}`)).body).toMatchObject({
    status: 'open',
    browser: { url: 'http://site.test/', title: 'Site' },
    run_ids: [second.run_id, first.run_id],
  });
  expect((await server.call('DELETE', `/computer-use/sessions/${id}`)).body).toMatchObject({
    status: 'closed',
    browser: null,
  });
  expect(gate.closed.filter(({ session }) => session === id)).toEqual([{ session: id, wipe: false }]);
  expect((await server.call('DELETE', `/computer-use/sessions/${id}?cleanup=true`)).status).toBe(200);
  expect(gate.closed.filter(({ session }) => session === id).at(-1)).toEqual({ session: id, wipe: true });
  expect(
    await server.call('POST', '/computer-use/execute', { mode: 'direct', session_id: id, actions: [read] }),
  ).toMatchObject({
    status: 400,
    body: { error: 'invalid_request' },
  });
  const listed = await server.call<{ sessions: Session[] }>('GET', '/computer-use/sessions');
  expect(listed.body.sessions[0]!.session_id).toBe(id);
  expect(listed.body.sessions.map(({ run_ids }) => run_ids.length)).not.toContain(1);
});

test('what is another’s, or nobody’s, is not there', async () => {
  const run = await completed({ actions: [read] });
  const { body: session } = await server.call<Session>('POST', '/computer-use/sessions', {});
  const other = {
    authorization: `Bearer ${linkToken}`,
    'x-platform-user-id': 'user_other',
    'x-gantry-surface': 'browser',
  };
  for (const id of [run.run_id, 'run_none']) {
    const headers = id === 'run_none' ? {} : other;
    const unknown = { status: 404, body: { error: 'run_not_found' } };
    for (const path of ['', '/events', '/stream', '/approval']) {
      expect(await server.call('GET', `/computer-use/runs/${id}${path}`, undefined, headers)).toMatchObject(unknown);
    }
    expect(await server.call('GET', `/stream/${id}`, undefined, headers)).toMatchObject(unknown);
    for (const verb of ['cancel', 'pause', 'resume']) {
      expect(await server.call('POST', `/runs/${id}/${verb}`, undefined, headers)).toMatchObject(unknown);
    }
  }
  const gone = { status: 404, body: { error: 'session_not_found' } };
  expect(await server.call('GET', `/computer-use/sessions/${session.session_id}`, undefined, other)).toMatchObject(
    gone,
  );
  expect(await server.call('DELETE', '/computer-use/sessions/ses_none')).toMatchObject(gone);
  const request = { mode: 'direct', session_id: session.session_id, actions: [read] };
  expect(await server.call('POST', '/computer-use/execute', request, other)).toMatchObject(gone);
  const taken = await server.call(
    'POST',
    '/computer-use/execute',
    { mode: 'direct', run_id: run.run_id, actions: [read] },
    other,
  );
  expect(taken).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect((await server.call<{ runs: Run[] }>('GET', '/computer-use/runs', undefined, other)).body.runs).toEqual([]);
});

test('a restart interrupts what lived and does nothing of it again', async () => {
  const own = createMemoryGate();
  const first = await startRunServer({ gate: own });
  own.asks.add('left_click');
  const never = new Promise<never>(() => {});
  own.answer = ({ member }) => (member === 'wait' ? never : null);
  const click = { toolset: 'browser', member: 'left_click', input: { target: { type: 'coordinate', x: 1, y: 1 } } };
  const asking = await first.run({ mode: 'direct', actions: [click] });
  await first.until(asking.run_id, is('awaiting_approval'));
  const queued = await first.run({ mode: 'direct', actions: [navigate] });
  await first.abandon();

  const later = createMemoryGate();
  const second = await startRunServer({ gate: later, folder: first.folder });
  try {
    for (const { run_id: id } of [asking, queued]) {
      const run = await second.until(id, () => true);
      expect(run).toMatchObject({ status: 'interrupted', result: { stop_reason: 'restart' }, approval: null });
      const events = await second.events(id);
      expect(events.map(({ index }) => index)).toEqual(events.map((_, index) => index));
      expect(events.slice(-2).map(({ event_type }) => event_type)).toEqual(['run.interrupted', 'run.ended']);
      expect(await second.stream(`/stream/${id}`)).toEqual(events);
      expect(await second.call('POST', `/runs/${id}/resume`)).toMatchObject({
        status: 409,
        body: { from: 'interrupted' },
      });
    }
    expect(later.calls).toEqual([]);
  } finally {
    await second.close();
  }
});

test('what has ended more than a month ago goes, with its events and the files that nothing else names', async () => {
  const own = createMemoryGate();
  const old = await startRunServer({ gate: own });
  try {
    own.answer = ({ member }) => (member === 'screenshot' ? done('', 'shared') : null);
    const gone = await old.run({ mode: 'direct', actions: [navigate] });
    await old.until(gone.run_id, is('completed'));
    own.answer = ({ member }) => (member === 'screenshot' ? done('', 'its own') : null);
    const lonely = await old.run({ mode: 'direct', actions: [navigate] });
    await old.until(lonely.run_id, is('completed'));
    own.answer = ({ member }) => (member === 'screenshot' ? done('', 'shared') : null);
    const stays = await old.run({ mode: 'direct', actions: [navigate] });
    await old.until(stays.run_id, is('completed'));
    await old.store.write((tx) => {
      for (const { run_id } of [gone, lonely]) {
        tx.run(
          'UPDATE computer_use_run SET finished_at = ? WHERE id = ?',
          systemClock.now() - retentionMs - 1000,
          run_id,
        );
      }
    });
    await old.computerUse.forgetOld(systemClock.now());
    for (const { run_id } of [gone, lonely]) {
      expect((await old.call('GET', `/computer-use/runs/${run_id}`)).status).toBe(404);
      expect(await old.store.read((tx) => tx.all('SELECT 1 FROM computer_use_event WHERE run_id = ?', run_id))).toEqual(
        [],
      );
    }
    const kept = await old.until(stays.run_id, () => true);
    const path = `/computer-use/runs/${stays.run_id}/artifacts/${kept.artifacts[0]!.artifact_id}`;
    const response = await fetch(`${old.url}${path}`, { headers: { authorization: `Bearer ${ownerToken}` } });
    expect(await response.text()).toBe('shared');
    const files = readdirSync(join(old.folder, 'computer-use', 'artifacts'), { recursive: true }) as string[];
    expect(files.filter((name) => /[0-9a-f]{64}$/.test(name))).toHaveLength(1);
  } finally {
    await old.close();
  }
});
