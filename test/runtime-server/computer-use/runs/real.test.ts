/**
 * A direct run through the real gate in a real browser: it fills a form of several pages, a person approves one step, pauses, takes
 * over, types there themselves and lets it go on.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run, Session } from '../../../../src/contracts/computer-use/run.ts';
import { hasChromium } from '../../../programs/executor/browser/has-chromium.ts';
import { type RealHands, startRealHands } from '../real-hands.ts';
import { ownerToken, type RunServer, startRunServer } from './server.ts';

const withBrowser = test.skipIf(!hasChromium());
const box = (top: number) => `position:absolute;left:100px;top:${top}px;width:400px;height:60px;font-size:20px`;
const field = (name: string, top: number, type = 'text') => `<input type=${type} name=${name} style="${box(top)}">`;
const page = (title: string, action: string, inside: string) =>
  `<title>${title}</title><form method=post action="${action}">${inside}<button style="${box(500)}">Next</button></form>`;

let real: RealHands;
let site: RealHands['site'];
let hands: RealHands['hands'];
let questions: RealHands['questions'];
let server: RunServer;
let sent: URLSearchParams[] = [];

beforeAll(async () => {
  if (!hasChromium()) return;
  real = await startRealHands();
  ({ hands, questions, site } = real);
  const after = (next: string) => real.answering(next, (body) => sent.push(new URLSearchParams(body)));
  site.pages.set('/', page('One', '/two', field('name', 100) + field('city', 200)));
  site.pages.set('/two', after(page('Two', '/three', field('pin', 100, 'password') + field('note', 200))));
  site.pages.set('/three', after('<title>Thanks</title><h1>Thank you</h1>'));
  server = await startRunServer({ gate: hands.gate });
}, 60_000);
afterAll(async () => {
  await server?.close();
  await real?.close();
});

const at = (top: number) => ({ target: { type: 'coordinate', x: 300, y: top + 30 } });
const click = (top: number) => ({ toolset: 'browser', member: 'left_click', input: at(top) });
const type = (text: string) => ({ toolset: 'browser', member: 'type', input: { text } });
const open = () => ({ toolset: 'browser', member: 'navigate', input: { url: `${site.origin}/` } });
const wait = (duration: number) => ({ toolset: 'browser', member: 'wait', input: { duration } });
const is = (status: string) => (run: Run) => run.status === status;

withBrowser(
  'a direct run fills a form of two pages while a person approves, pauses, takes over and lets it go on',
  { timeout: 90_000 },
  async () => {
    sent = [];
    const { body: session } = await server.call<Session>('POST', '/computer-use/sessions', { target_scope: 'browser' });
    const { run_id: id } = await server.run({
      mode: 'direct',
      session_id: session.session_id,
      actions: [
        open(),
        click(100),
        type('Zoë Ødegård'),
        click(200),
        type('東京'),
        click(500),
        click(100),
        type('correct horse'),
        wait(30),
        click(500),
        { toolset: 'browser', member: 'get_page_text' },
      ],
      options: { record: true },
    });
    // The password field asks, though a person started the run.
    const asking = await server.until(id, is('awaiting_approval'));
    expect(asking.approval).toMatchObject({ member: 'type', toolset: 'browser', risk: 'high' });
    expect(JSON.stringify(asking)).not.toContain('correct horse');
    expect(sent.map((form) => [...form.entries()])).toEqual([
      [
        ['name', 'Zoë Ødegård'],
        ['city', '東京'],
      ],
    ]);
    await questions.answer(asking.approval!.id, { state: 'approved', by: 'user_local' });
    // It is in the middle of a long wait when somebody takes control: that is cut off at once.
    await server.until(id, ({ steps }) => steps === 9);
    await expect
      .poll(async () => (await server.events(id)).filter(({ event_type }) => event_type === 'action.started').length)
      .toBe(9);
    const me = { kind: 'person', id: 'user_local' } as const;
    hands.gate.control.take(me);
    expect((await server.until(id, is('paused'))).pause).toMatchObject({ reason: 'takeover' });
    expect(await server.call('POST', `/runs/${id}/resume`)).toMatchObject({
      status: 423,
      body: { error: 'take_control_first' },
    });
    const byHand = {
      userId: 'user_local',
      surface: 'browser',
      holder: me,
      startedByPerson: true,
      byModel: false,
    };
    for (const action of [click(200), type('by hand')]) {
      const call = { ...action, toolset: 'browser' as const, browser_session_id: session.session_id };
      const outcome = await hands.gate.call(call, byHand, new AbortController().signal);
      expect(outcome).toMatchObject({ kind: 'done', result: { is_error: false } });
    }
    hands.gate.control.release(me);
    await server.call('POST', `/runs/${id}/resume`);
    const run = await server.until(id, ({ finished_at }) => finished_at !== null);
    expect(run).toMatchObject({ status: 'completed', steps: 11, result: { stop_reason: 'done' } });
    expect(run.result!.text).toContain('Thank you');
    expect(Object.fromEntries(sent[1]!)).toEqual({ pin: 'correct horse', note: 'by hand' });

    const events = await server.events(id);
    expect(events.map(({ index }) => index)).toEqual(events.map((_, index) => index));
    expect(JSON.stringify(events)).not.toContain('correct horse');
    expect(
      events.filter(({ event_type }) => /^(run|control|approval)\./.test(event_type)).map((e) => e.event_type),
    ).toEqual([
      'run.started',
      'approval.required',
      'approval.resolved',
      'control.taken',
      'run.paused',
      'control.released',
      'run.resumed',
      'run.completed',
      'run.ended',
    ]);
    const kinds = run.artifacts.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'screenshot').length).toBeGreaterThanOrEqual(6);
    // It would hold the password.
    expect(kinds).not.toContain('trace');
    expect(events.find(({ event_type }) => event_type === 'artifact.dropped')).toMatchObject({
      message: 'The trace was not saved. It would show what was typed into a password field.',
      data: { kind: 'trace' },
    });
    const picture = run.artifacts.find(({ kind }) => kind === 'screenshot')!;
    const response = await fetch(`${server.url}/computer-use/runs/${id}/artifacts/${picture.artifact_id}`, {
      headers: { authorization: `Bearer ${ownerToken}` },
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.length).toBe(picture.size);
    expect(bytes.subarray(0, 2).toString('hex')).toBe(picture.media_type === 'image/png' ? '8950' : 'ffd8');

    // The session has outlived the run, with its page; each action has its row.
    expect((await server.call<Session>('GET', `/computer-use/sessions/${session.session_id}`)).body).toMatchObject({
      status: 'open',
      browser: { title: 'Thanks' },
      run_ids: [id],
    });
    const audited = await real.store.read((tx) =>
      tx.all<{ call_index: number; outcome: string }>(
        `SELECT call_index, outcome FROM computer_use_action WHERE holder_id = ? AND call_index IS NOT NULL AND stage = 'action' ORDER BY call_index`,
        id,
      ),
    );
    expect(audited.map(({ call_index }) => call_index)).toEqual(Array.from({ length: 11 }, (_, index) => index));
    expect((await server.call('DELETE', `/computer-use/sessions/${session.session_id}?cleanup=true`)).status).toBe(200);
  },
);

withBrowser(
  'a recorded run has a video where one can be made, and a download is kept',
  { timeout: 60_000 },
  async () => {
    site.pages.set(
      '/file',
      `<title>File</title><a download="notes.txt" href="data:text/plain,hello" style="${box(100)};display:block">Get it</a>`,
    );
    const run = await server.run({
      mode: 'direct',
      actions: [{ ...open(), input: { url: `${site.origin}/file` } }, click(100), wait(2)],
      options: { record: true },
    });
    const ended = await server.until(run.run_id, ({ finished_at }) => finished_at !== null);
    expect(ended.status).toBe('completed');
    const kinds = ended.artifacts.map(({ kind, media_type }) => [kind, media_type]);
    expect(kinds).toContainEqual(['download', 'application/octet-stream']);
    expect(kinds).toContainEqual(['trace', 'application/zip']);
    const films = spawnSync('ffmpeg', ['-version']).status === 0;
    expect(kinds.some(([kind, type]) => kind === 'video' && type === 'video/webm')).toBe(films);
  },
);
