/** Approvals from the asker on the computer to the person in the cloud and back: real HTTP, signatures and stores. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import * as contract from '../../src/contracts/factory/routes.ts';
import { bind } from '../../src/kit/http/types.ts';
import { signedHeaders } from '../../src/kit/signing/signature.ts';
import { type Pair, pending, push, resolve } from './approval-support.ts';
import { movableClock, scratchHome, signIn, startPair } from './support.ts';

function moveToStranger(pair: Pair, id: string): void {
  const database = new Database(pair.places.cloudDb);
  database.prepare("UPDATE approval SET computer_id = 'computer_2', user_id = 'user_2' WHERE id = ?").run(id);
  database.close();
}

type Event = { id: string; data: { type: string; data: Approval } };

async function openStream(
  pair: Pair,
  path: string,
  onEvent: (event: Event) => void,
  headers: Record<string, string> = {},
) {
  const stop = new AbortController();
  const response = await fetch(pair.web.origin + path, {
    headers: { authorization: `Bearer ${pair.ownerToken}`, ...headers },
    signal: stop.signal,
  });
  expect(response.status).toBe(200);
  const read = async () => {
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (id !== undefined && data !== undefined) onEvent({ id, data: JSON.parse(data) as Event['data'] });
      }
    }
  };
  read().catch(() => {});
  return { close: () => stop.abort() };
}

test('what a bot asks is seen in the cloud, answered there, and the answer acts on the computer', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask(push);
  const [seen] = await pending(pair);
  expect(seen).toMatchObject({
    id: asked.id,
    state: 'pending',
    decision: null,
    title: 'Push to the remote',
    summary: 'git push origin main',
    source: 'gate',
    resolvedBy: null,
  });
  const reply = await resolve(pair, asked.id, { decision: 'approve', note: 'go' });
  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({ id: asked.id, state: 'resolved', decision: 'approve', note: 'go' });
  const answer = await asked.answer;
  expect(answer).toMatchObject({ kind: 'approve', note: 'go', by: { user: 'user_local', surface: 'cli' } });
  await expect
    .poll(async () => {
      const all = await pair.callWeb('GET', '/api/factory/approvals');
      return (all.json as unknown as { approvals: Approval[] }).approvals[0]?.appliedAt;
    })
    .toMatch(/^20/);
});

test('the longest summary arrives, however it is written on its way; one that is longer to read is refused', async () => {
  const pair = await startPair({});
  // Three bytes each, then two.
  const summary = '語'.repeat(100_000) + '"'.repeat(100_000);
  await pair.approvals.ask({ ...push, summary });
  expect((await pending(pair))[0]?.summary).toBe(summary);
  await expect(pair.approvals.ask({ ...push, summary: '\u0001'.repeat(200_000) })).rejects.toMatchObject({
    code: 'refused',
  });
});

test('of two surfaces that answer at once one wins, and the other is told who, where and when', async () => {
  const pair = await startPair({});
  const cookie = await signIn(pair);
  const session = await pair.callWeb('GET', '/api/v1/session', { token: null, headers: { cookie } });
  const browser = {
    token: null,
    headers: { cookie, 'x-platform-csrf': (session.json as unknown as { csrf: string }).csrf },
  };
  const asked = await pair.approvals.ask(push);
  await pending(pair);
  const replies = await Promise.all([
    resolve(pair, asked.id, { decision: 'approve' }),
    resolve(pair, asked.id, { decision: 'reject' }, browser),
  ]);
  const statuses = replies.map((reply) => reply.status);
  expect(statuses.toSorted()).toEqual([200, 409]);
  const won = replies[statuses.indexOf(200)]!.json as unknown as Approval;
  const lost = replies[statuses.indexOf(409)]!.json as unknown as {
    error: { code: string; fact: string };
    approval: Approval;
  };
  expect(lost.error.code).toBe('refused');
  const { user, surface } = won.resolvedBy!;
  expect(['cli', 'browser']).toContain(surface);
  expect(lost.error.fact).toContain(`by ${user} via ${surface} at ${won.resolvedAt}`);
  expect(lost.approval).toEqual(won);
  expect(await asked.answer).toMatchObject({ kind: won.decision, by: won.resolvedBy });
});

test('an expired one is answered 410, and whoever asked is told that it expired', async () => {
  const clock = movableClock();
  const pair = await startPair({ clock });
  const asked = await pair.approvals.ask({ ...push, expiresInMs: 30_000 });
  await pending(pair);
  clock.move(31_000);
  const reply = await resolve(pair, asked.id, { decision: 'approve' });
  expect(reply.status).toBe(410);
  expect(reply.json.error).toMatchObject({ code: 'refused' });
  expect((reply.json as unknown as { approval: Approval }).approval).toMatchObject({
    state: 'pending',
    decision: null,
  });
  expect(await pending(pair, 0)).toEqual([]);
  // An answer that was under way finds no hold any more.
  const late = { id: asked.id, decision: 'approve', note: null, at: new Date(clock.now()).toISOString() };
  expect(
    await pair.approvals.answer({ ...late, decision: 'approve', resolvedBy: { user: 'user_local', surface: 'cli' } }),
  ).toBe('gone');
  expect(await asked.answer).toEqual({ kind: 'expired' });
});

test('what the person answers where it was asked is withdrawn everywhere, with that surface', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask({ ...push, source: 'harness', kind: 'permission' });
  await pending(pair);
  await pair.approvals.withdraw(asked.id, 'pane');
  expect(await asked.answer).toEqual({ kind: 'withdrawn', surface: 'pane' });
  await pending(pair, 0);
  const reply = await resolve(pair, asked.id, { decision: 'approve' });
  expect(reply.status).toBe(409);
  expect(reply.json.error).toMatchObject({ code: 'refused', fact: expect.stringContaining('withdrawn via pane at') });
  expect((reply.json as unknown as { approval: Approval }).approval).toMatchObject({
    state: 'resolved',
    decision: null,
    resolvedBy: { user: 'user_local', surface: 'pane' },
  });
});

test('an unknown approval is not found; a bot, a device and a stranger can answer none', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask(push);
  await pending(pair);
  expect((await resolve(pair, 'apr_00000000000000000000000000', { decision: 'approve' })).status).toBe(404);
  const bot = await pair.bots.mint('agent_1');
  // The cloud API knows no bot, and the engine has no such door.
  expect((await resolve(pair, asked.id, { decision: 'approve' }, { token: bot })).status).toBe(401);
  const path = `/api/factory/approvals/${asked.id}/resolve`;
  expect((await pair.callEngine('POST', path, { body: { decision: 'approve' }, token: bot })).status).toBe(404);
  const answers = { body: {}, token: bot };
  expect((await pair.callEngine('POST', '/api/v1/runtime/approval-answers', answers)).status).toBe(403);
  const body = JSON.stringify({ decision: 'approve' });
  const { key, runtimeId } = pair.device;
  const headers = signedHeaders({ key, runtimeId, now: Date.now }, { method: 'POST', path, body });
  expect((await pair.callWeb('POST', path, { token: null, headers, body: { decision: 'approve' } })).status).toBe(403);
  expect((await resolve(pair, asked.id, { decision: 'approve' }, { token: null })).status).toBe(401);
  expect(await pending(pair)).toHaveLength(1);
});

test('a dry run refuses what the answer would be refused for, and answers nothing', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask(push);
  await pending(pair);
  const dry = await resolve(pair, asked.id, { decision: 'reject', dryRun: true });
  expect(dry.json).toEqual({
    dryRun: true,
    plan: { id: asked.id, title: 'Push to the remote', decision: 'reject' },
  });
  expect(await pending(pair)).toHaveLength(1);
  await resolve(pair, asked.id, { decision: 'reject' });
  expect((await resolve(pair, asked.id, { decision: 'reject', dryRun: true })).status).toBe(409);
});

test('a computer cannot write over the approval of another, nor learn of it', async () => {
  const pair = await startPair({});
  const asked = await pair.approvals.ask(push);
  const [approval] = await pending(pair);
  const { key, runtimeId } = pair.device;
  const body = {
    kind: 'tool_call',
    title: 'x',
    summary: 'rm -rf /',
    risk: 'low',
    source: 'gate',
    agentId: null,
    requestedAt: approval!.requestedAt,
    expiresAt: approval!.expiresAt,
    engineId: 'engine_1',
    ledgerId: '1',
  };
  const put = (id: string, now: number, report = body) => {
    const path = `/api/v1/runtime/approvals/${id}`;
    const signer = { key, runtimeId, now: () => now };
    const headers = signedHeaders(signer, { method: 'PUT', path, body: JSON.stringify(report) });
    return pair.callWeb('PUT', path, { token: null, headers, body: report });
  };
  // An id of events must not end one event and begin another.
  const broken = { ...body, engineId: 'engine_1\n\ndata: {}' };
  const refused = await put(asked.id, Date.now() + 1000, broken);
  expect([refused.status, refused.json.error]).toEqual([400, 'bad_request']);
  // Said again with other words, it stays what it was.
  const now = Date.now();
  expect((await put(asked.id, now)).json).toMatchObject({ summary: 'git push origin main' });
  // The same signature once more.
  expect((await put(asked.id, now)).status).toBe(401);
  moveToStranger(pair, asked.id);
  expect((await put(asked.id, Date.now() + 2000)).status).toBe(404);
  expect((await pair.callWeb('GET', '/api/factory/approvals')).json).toEqual({ approvals: [] });
});

test('approval events come through the cloud’s stream alone, with ids that lead back to where the ledger stood', async () => {
  const heads: (string | undefined)[] = [];
  const pair = await startPair({
    routes: [
      bind(contract.factoryEventStream, ({ request, query }, sink) => {
        heads.push(query.after ?? request.headers['last-event-id']?.toString());
        sink.send({ id: '7', data: { type: 'delivery', at: '', data: null } });
      }),
    ],
  });
  const events: Event[] = [];
  const stream = await openStream(pair, '/api/factory/events', (event) => void events.push(event));
  await expect.poll(() => events.length).toBe(1);
  const asked = await pair.approvals.ask(push);
  await expect.poll(() => events.length).toBe(2);
  await resolve(pair, asked.id, { decision: 'reject', note: 'not today' });
  await expect.poll(() => events.length).toBe(3);
  const engineId = pair.ledger.engineId;
  expect(events.slice(1).map(({ id, data }) => [id, data.type, data.data.id])).toEqual([
    [`${engineId}~apr-${asked.id}`, 'approval.requested', asked.id],
    [`${engineId}~apr-${asked.id}`, 'approval.resolved', asked.id],
  ]);
  expect(events[2]?.data.data).toMatchObject({ decision: 'reject', note: 'not today', resolvedBy: { surface: 'cli' } });
  stream.close();
  // Back with its id: the engine is asked from where its ledger stood; nothing of approvals is replayed.
  const seen = events.length;
  const back = await openStream(pair, '/api/factory/events', (event) => void events.push(event), {
    'last-event-id': `${engineId}~apr-${asked.id}`,
  });
  await expect.poll(() => heads.length).toBe(2);
  expect(heads[1]).toMatch(/^\d+$/);
  await expect.poll(() => events.length).toBe(seen + 1);
  back.close();
  for (const unknown of [`${engineId}~apr-apr_00000000000000000000000000`, `engine_OTHER~apr-${asked.id}`]) {
    const lost = await openStream(pair, `/api/factory/events?after=${encodeURIComponent(unknown)}`, () => {});
    // Passed on as it is: the engine answers `reset`.
    await expect.poll(() => heads.at(-1)).toBe(unknown);
    lost.close();
  }
});

test('what was signed for the cloud is not signed for the computer, and the other way round', async () => {
  const pair = await startPair({});
  const { key, runtimeId } = pair.device;
  const sign = (method: string, path: string, body: string) =>
    signedHeaders({ key, runtimeId, now: Date.now }, { method, path, body });
  const path = '/api/v1/runtime/approvals/apr_00000000000000000000000000';
  const up = sign('PUT', path, '{}');
  const down = sign('POST', '/api/v1/runtime/approval-answers', '{}');
  const captured = { token: null, body: {} };
  expect((await pair.callEngine('POST', '/api/v1/runtime/approval-answers', { ...captured, headers: up })).status).toBe(
    401,
  );
  expect((await pair.callWeb('PUT', path, { ...captured, headers: down })).status).toBe(401);
  // The engine has no door for questions and the cloud none for answers.
  expect((await pair.callEngine('PUT', path, { ...captured, headers: up })).status).toBe(404);
  expect((await pair.callWeb('POST', '/api/v1/runtime/approval-answers', { ...captured, headers: down })).status).toBe(
    404,
  );
});

test('the computer’s identity lies sealed: neither its token nor its key stands in any file', async () => {
  const home = scratchHome();
  const pair = await startPair({ home });
  const { token, key } = pair.device;
  await pair.close();
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) {
    const bytes = readFileSync(join(file.parentPath, file.name));
    for (const secret of [token, key]) expect([file.name, bytes.includes(secret)]).toEqual([file.name, false]);
  }
});
