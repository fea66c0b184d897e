/**
 * A computer as its developer has it, end to end: made by API key in a cloud, by the helper of its machine, with a real browser in it;
 * driven, asked about, asleep, woken, deleted, and what it cost adds up. Root on Linux alone: elsewhere it says so.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ToolsetResult } from '../../src/contracts/computer-use/toolset.ts';
import type { HostedComputer, HostedEvent, MeterLine } from '../../src/contracts/hosted-computers/computer.ts';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import {
  clearAway,
  type Helper,
  helperFolder,
  leftovers,
  noComputers,
  startHelper,
} from '../support/computers/helper.ts';
import { createWorld, type World } from '../support/computers/world.ts';
import { signInAs } from '../support/oidc-provider.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: a hosted computer end to end (${missing}).`);

const patience = 60_000;

describe.skipIf(missing !== null)('a hosted computer', () => {
  const stop = keepUntilEnd();
  const folder = helperFolder();
  let around: World;
  let helper: Helper;
  let people: People;
  let ada: Person;
  let key: string;

  beforeAll(async () => {
    around = await createWorld();
    helper = await startHelper({ world: around, folder });
    people = await startPeople({ settings: { computersFolder: folder } });
    ada = await personWith(people, await signInAs('ada', people.origin));
    const admin = (path: string, body: object) =>
      people.call('POST', `/api/v1/admin/${path}`, { token: people.internalToken, body });
    await admin('projects', { id: 'shop', userId: ada.id, hostedDriverEnabled: true });
    await people.call('PUT', '/api/v1/admin/prices/computer_action', {
      token: people.internalToken,
      body: { cents: 2 },
    });
    const made = await ada.call('POST', '/api/v1/keys', { body: { name: 'shop', scopes: ['computers'] } });
    key = (made.json as unknown as { secret: string }).secret;
  }, patience);
  afterAll(async () => {
    await stop();
    await helper?.stop();
    around?.close();
    clearAway(folder);
  }, patience);

  test('is made by key, shows itself, is clicked, asks, sleeps, wakes and is deleted, and its meters add up', async () => {
    const ask = async <Body>(method: string, path: string, body?: unknown) => {
      const reply = await people.call(method, `/v1/computers${path}`, { token: key, body });
      return { status: reply.status, text: reply.text.slice(0, 500), body: reply.json as unknown as Body };
    };
    const made = await ask<HostedComputer>('POST', '', { name: 'end to end' });
    expect([made.status, made.text]).toEqual([201, expect.stringContaining('"running"')]);
    const { id } = made.body;
    let actions = 0;
    const act = async (member: string, input: object, more: object = {}) => {
      const body = { toolset: 'computer', member, input, ...more };
      const reply = await ask<{ is_error: boolean; content: { type: string; width?: number }[] }>(
        'POST',
        `/${id}/toolset`,
        body,
      );
      if (reply.status === 200) actions += 1;
      return reply;
    };
    const seen = await act('screenshot', {});
    expect([seen.status, seen.text]).toEqual([200, expect.stringContaining('"image"')]);
    expect(await act('left_click', { coordinate: [200, 150] })).toMatchObject({
      status: 200,
      body: { is_error: false },
    });
    const browser = (member: string, input: object = {}) => act(member, input, { toolset: 'browser' });
    const page = { url: 'http://public.example:8080/' };
    expect((await browser('navigate', page)).body).toMatchObject({ is_error: false });
    expect((await browser('get_page_text')).text).toContain('Hello');
    // What is private is refused before the network would.
    expect((await browser('navigate', { url: 'http://10.9.9.9:8080/' })).body).toMatchObject({ is_error: true });
    expect((await browser('navigate', page)).body).toMatchObject({ is_error: false });
    expect((await act('fly', {})).status).toBe(400);
    expect((await act('left_click', { coordinate: [-5, 150] })).status).toBe(400);
    // A script in a page asks; the person answers; the same call runs once.
    const script = { toolset: 'browser', enable: ['javascript_exec'] };
    const asked = await act('javascript_exec', { text: '6 * 7' }, script);
    expect([asked.status, asked.text]).toEqual([409, expect.stringContaining('approval_required')]);
    const { approval } = asked.body as unknown as { approval: { id: string } };
    const answer = await ada.call('POST', `/v1/computers/${id}/approvals/${approval.id}`, {
      body: { decision: 'approve' },
    });
    expect(answer.json).toMatchObject({ state: 'approved' });
    const granted = await act('javascript_exec', { text: '6 * 7' }, { ...script, approval_grant: approval.id });
    expect([granted.status, granted.text]).toEqual([200, expect.stringContaining('42')]);
    const again = await act('javascript_exec', { text: '6 * 7' }, { ...script, approval_grant: approval.id });
    expect(again.status).not.toBe(200);
    people.clock.move(301_000);
    const now = async () => (await ask<HostedComputer>('GET', `/${id}`)).body;
    await expect.poll(now, { timeout: patience, interval: 500 }).toMatchObject({ status: 'running', sleeping: true });
    expect((await helper.ask('inspect', id)).state).toBe('frozen');
    const woken = await act('screenshot', {});
    expect([woken.status, woken.text]).toEqual([200, expect.stringContaining('"image"')]);
    expect((await helper.ask('inspect', id)).state).toBe('running');
    const control = (verb: string) => ada.call('POST', `/api/v1/computers/${id}/control/${verb}`, { body: {} });
    expect((await control('take')).status).toBe(200);
    expect((await act('left_click', { coordinate: [10, 10] })).status).toBe(423);
    expect((await control('release')).status).toBe(200);
    const { events } = (await ask<{ events: HostedEvent[] }>('GET', `/${id}/events?limit=200`)).body;
    expect(events.map(({ index }) => index)).toEqual(events.map((_, index) => index));
    expect(events.map(({ type }) => type)).toEqual([
      ...['computer.created', 'computer.started', 'action.completed', 'action.completed'],
      // The page, its text, the private one, the page again.
      ...['action.completed', 'action.completed', 'action.failed', 'action.completed'],
      ...['approval.required', 'approval.resolved', 'action.completed', 'approval.required'].slice(
        0,
        again.status === 409 ? 4 : 3,
      ),
      ...['computer.sleeping', 'computer.woken', 'action.completed', 'control.taken', 'control.released'],
    ]);
    const { lines } = (await ask<{ lines: MeterLine[] }>('GET', `/${id}/meters`)).body;
    const sum = (meter: string) =>
      lines.filter((line) => line.meter === meter).reduce((total, { quantity }) => total + quantity, 0);
    expect(sum('computer_action')).toBe(actions);
    expect((await ask<HostedComputer>('DELETE', `/${id}`)).body.status).toBe('deleted');
    expect(await helper.ask('list')).toEqual([]);
    expect(leftovers(around, folder).filter((line) => line.includes(`${folder}/computers`))).toEqual([]);
    const usage = await ada.call('GET', '/api/v1/usage');
    const spent = usage.json as unknown as { spentCents: number; lines: { kind: string; quantity: number }[] };
    expect(spent.spentCents).toBe(actions * 2);
    const minutes = spent.lines.find(({ kind }) => kind === 'computer_minute')!.quantity;
    // The five that it was idle, and what it was up besides.
    expect(minutes).toBeGreaterThanOrEqual(Math.max(5, sum('computer_minute')));
    expect(minutes).toBeLessThan(7);
  }, 180_000);

  test('without a screen runs commands and keeps files, by the same key, events and meters', async () => {
    const ask = async <Body>(method: string, path: string, body?: unknown) => {
      const reply = await people.call(method, `/v1/computers${path}`, { token: key, body });
      return { status: reply.status, text: reply.text.slice(0, 500), body: reply.json as unknown as Body };
    };
    const made = await ask<HostedComputer>('POST', '', { toolset: 'shell' });
    expect([made.status, made.text]).toEqual([201, expect.stringContaining('"running"')]);
    const { id } = made.body;
    const shell = (member: string, input: object) =>
      ask<ToolsetResult>('POST', `/${id}/toolset`, { toolset: 'shell', member, input });
    const wrote = await shell('write_file', { path: 'in.txt', content: 'b\na\n' });
    expect([wrote.status, wrote.body.file]).toEqual([200, { size: 4, next_offset: null }]);
    const ran = await shell('exec', { command: 'sort in.txt > out.txt; exit 2', shell: true });
    expect([ran.status, ran.body.is_error, ran.body.exec]).toEqual([200, false, { exit_code: 2, truncated: false }]);
    expect((await shell('read_file', { path: 'out.txt' })).body.content).toEqual([{ type: 'text', text: 'a\nb\n' }]);
    expect((await shell('read_file', { path: 'none' })).body.error?.code).toBe('file_not_found');
    expect((await ask('POST', `/${id}/toolset`, { toolset: 'browser', member: 'screenshot', input: {} })).status).toBe(
      400,
    );
    const schema = await ask<{ members: { name: string }[] }>('GET', `/${id}/toolset/schema?toolset=shell`);
    expect(schema.body.members.map(({ name }) => name)).toEqual(['exec', 'read_file', 'write_file']);
    // The person runs a command of theirs, which counts like any other.
    const own = await ada.call('POST', `/api/v1/computers/${id}/toolset`, {
      body: { toolset: 'shell', member: 'exec', input: { command: 'whoami' } },
    });
    expect(own.json).toMatchObject({ is_error: false, content: [{ text: 'user\n' }, { text: '' }] });
    const { lines } = (await ask<{ lines: MeterLine[] }>('GET', `/${id}/meters`)).body;
    const actions = lines.filter(({ meter }) => meter === 'computer_action');
    expect(actions.reduce((total, { quantity }) => total + quantity, 0)).toBe(5);
    const { events } = (await ask<{ events: HostedEvent[] }>('GET', `/${id}/events`)).body;
    expect(events.map(({ data }) => data.member ?? null).slice(2)).toEqual([
      'write_file',
      'exec',
      'read_file',
      'read_file',
      'exec',
    ]);
    expect((await ask<HostedComputer>('DELETE', `/${id}`)).body.status).toBe('deleted');
    expect(await helper.ask('list')).toEqual([]);
  }, 180_000);
});
