/** A computer that pairs with a cloud, as its person sees it from both sides. */
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { computersOf, type Installation, pairUp, signIn, startInstallation } from './paired-support.ts';

let people: People;
let installation: Installation;
let ada: Person;
let bob: Person;
const stop = keepUntilEnd();
beforeAll(async () => {
  people = await startPeople();
  [installation, ada, bob] = await Promise.all([startInstallation(), signIn(people), signIn(people, 'bob')]);
}, 60_000);
afterAll(stop);

/** Something on this computer asks its person; answered once they do. */
function ask(command: string): Promise<{ verdict: string; rule: string }> {
  const body = { tool: 'shell', member: 'exec', command, waitSeconds: 30 };
  return installation.engine('POST', '/api/factory/gate', { body }).then((reply) => reply.json as never);
}
const approvalsOf = async (call: Installation['web']) =>
  (await call('GET', '/api/factory/approvals?state=pending')).json as never as {
    approvals: Approval[];
    waits?: string;
  };
async function shown(call: Installation['web'], count = 1): Promise<Approval[]> {
  await expect.poll(async () => (await approvalsOf(call)).approvals.length).toBe(count);
  return (await approvalsOf(call)).approvals;
}

test('while approvals wait here a computer is not paired, and they are named', async () => {
  const asked = ask('rm -r build');
  const [waiting] = await shown(installation.web);
  const refused = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: people.origin } });
  expect([refused.status, refused.json.error]).toEqual([409, 'approvals_pending']);
  expect(refused.json.message).toContain(waiting?.id);
  const dry = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: people.origin, dryRun: true } });
  expect(dry.status).toBe(409);
  await installation.web('POST', `/api/factory/approvals/${waiting?.id}/resolve`, { body: { decision: 'reject' } });
  expect(await asked).toMatchObject({ verdict: 'deny' });
});

test('an address that is none, or would be read on its way, is not asked', async () => {
  for (const cloudUrl of [
    'http://gantry.example',
    'ftp://127.0.0.1',
    'https://a:b@gantry.example',
    'x y',
    'https://h/path',
  ]) {
    const reply = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl } });
    expect([cloudUrl, reply.status]).toEqual([cloudUrl, 400]);
  }
  const nobody = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: 'http://127.0.0.1:9' } });
  expect(nobody.status).toBe(502);
  const itself = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: installation.gantry.origin } });
  expect([itself.status, itself.json.message]).toEqual([403, expect.stringContaining('gantry cloud')]);
  expect(await installation.pairing()).toMatchObject({ state: 'unpaired' });
});

test('a computer pairs by its code and is reached through the cloud by its person alone', async () => {
  const dry = await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: people.origin, dryRun: true } });
  expect(dry.json).toEqual({ dryRun: true, plan: { cloudUrl: people.origin } });
  const paired = await pairUp(installation, people, ada);
  expect(paired).toMatchObject({ state: 'paired', cloudUrl: people.origin, user: { id: ada.id, name: 'Ada' } });
  expect(await computersOf(ada)).toMatchObject([{ id: paired.computerId, state: 'linked', default: true }]);
  expect(await computersOf(bob)).toEqual([]);
  expect((await ada.call('GET', '/api/factory/teams')).status).toBe(200);
  expect((await bob.call('GET', `/api/factory/teams?computer=${paired.computerId}`)).status).toBe(404);
  expect((await installation.web('POST', '/api/v1/pairing', { body: { cloudUrl: people.origin } })).status).toBe(409);
});

test('the pairing file is private and holds no secret', () => {
  expect(statSync(installation.places.pairing).mode & 0o777).toBe(0o600);
  const file = JSON.parse(readFileSync(installation.places.pairing, 'utf8'));
  expect(Object.keys(file).toSorted()).toEqual(['cloudUrl', 'computerId', 'deviceTokenRef', 'ticketKeys', 'user', 'v']);
  expect(file).toMatchObject({ v: 1, user: ada.id, cloudUrl: people.origin, ticketKeys: [{ kty: 'OKP' }] });
  expect(file.ticketKeys[0].d).toBeUndefined();
});

test('no door of this computer but the person’s own tells of its pairing', async () => {
  expect((await ada.call('GET', '/api/v1/pairing')).status).toBe(403);
  const socketPath = installation.places.engineSocket;
  expect((await installation.engine('GET', '/api/v1/pairing', { socketPath })).status).toBe(200);
  expect((await installation.web('GET', '/api/v1/pairing', { token: null })).status).toBe(401);
});

test('what is asked of the person while paired is asked at home, and answered at either place', async () => {
  const first = ask('git push origin main');
  const [atHome] = await shown(ada.call);
  expect(await approvalsOf(installation.web)).toMatchObject({ approvals: [{ id: atHome?.id }] });
  // The cookie of home, and at the desk the owner's token: both are the person.
  const reply = await installation.web('POST', `/api/factory/approvals/${atHome?.id}/resolve`, {
    body: { decision: 'approve' },
  });
  expect(reply.json).toMatchObject({ state: 'resolved', resolvedBy: { user: ada.id, surface: 'cli' } });
  expect(await first).toMatchObject({ verdict: 'allow', rule: expect.stringContaining(`by ${ada.id} via cli`) });
  const second = ask('git push origin next');
  const [again] = await shown(ada.call);
  expect(
    (await bob.call('POST', `/api/factory/approvals/${again?.id}/resolve`, { body: { decision: 'approve' } })).status,
  ).toBe(404);
  await ada.call('POST', `/api/factory/approvals/${again?.id}/resolve`, { body: { decision: 'reject' } });
  expect(await second).toMatchObject({ verdict: 'deny', rule: expect.stringContaining('via browser') });
});

test('at the desk settings are those of home, bots are this computer’s, and a named other computer is asked for at home', async () => {
  expect((await installation.web('GET', '/api/v1/computers')).json).toEqual({ computers: await computersOf(ada) });
  expect((await installation.web('GET', '/api/v1/session')).json).toMatchObject({ user: 'user_local' });
  expect((await installation.web('GET', '/api/factory/teams')).status).toBe(200);
  const own = await installation.web('GET', '/api/factory/teams', {
    headers: { 'x-gantry-computer': (await installation.pairing()).computerId ?? '' },
  });
  expect(own.status).toBe(200);
  const other = await installation.web('GET', '/api/factory/teams?computer=cc_NOBODY');
  expect([other.status, other.json.error.code]).toEqual([404, 'not_found']);
  expect((await installation.web('GET', '/api/v1/sessions')).json).toMatchObject({
    sessions: expect.arrayContaining([expect.objectContaining({ kind: 'home' })]),
  });
});

test('nobody gets home through this computer’s server, and a page of another port neither', async () => {
  const cloud = serverTables.find(({ name }) => name === 'cloud')!;
  for (const route of cloud.routes) {
    if (route.auth.includes('public')) continue;
    const path = route.path.replace(/:\w+/g, 'nothing_1').replace('*', 'x');
    const reply = await installation.web(route.method, path, { token: null });
    expect([route.op, reply.status]).toEqual([route.op, 401]);
    const foreign = await installation.web(route.method, path, { headers: { origin: 'http://127.0.0.1:5173' } });
    expect([route.op, foreign.status]).toEqual([route.op, 403]);
  }
});

test('a browser that was let in at the desk answers with its page’s own header alone', async () => {
  const { url } = await installation.gantry.openUrl();
  const entered = await installation.web('GET', url.slice(installation.gantry.origin.length), { token: null });
  const cookie = String(entered.headers['set-cookie']?.[0]).split(';')[0]!;
  const session = await installation.web('GET', '/api/v1/session', { token: null, headers: { cookie } });
  const asked = ask('git push origin browser');
  const [one] = await shown(installation.web);
  const answer = (headers: Record<string, string>) =>
    installation.web('POST', `/api/factory/approvals/${one?.id}/resolve`, {
      token: null,
      headers: { cookie, ...headers },
      body: { decision: 'approve' },
    });
  expect((await answer({})).status).toBe(403);
  const reply = await answer({ 'x-platform-csrf': String(session.json.csrf) });
  expect(reply.json).toMatchObject({ resolvedBy: { user: ada.id, surface: 'browser' } });
  expect(await asked).toMatchObject({ verdict: 'allow' });
});

test('events at the desk are those of home, with approvals between those of its bots', async () => {
  const controller = new AbortController();
  const token = readFileSync(installation.places.token, 'utf8').trim();
  const response = await fetch(`${installation.gantry.origin}/api/factory/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: controller.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  const reading = (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
  })().catch(() => {});
  const asked = ask('git push origin events');
  await expect.poll(() => text).toContain('approval.requested');
  const [one] = await shown(installation.web);
  await installation.web('POST', `/api/factory/approvals/${one?.id}/resolve`, { body: { decision: 'reject' } });
  await asked;
  await expect.poll(() => text).toContain('approval.resolved');
  controller.abort();
  await reading;
});

test('a pairing file that others may read, or that was changed, is not used, and is used again once it is mended', async () => {
  const { pairing } = installation.places;
  const good = readFileSync(pairing, 'utf8');
  const bad: [string, () => void, string][] = [
    ['lax', () => chmodSync(pairing, 0o644), 'others may read it'],
    ['garbled', () => writeFileSync(pairing, good.slice(0, 40)), 'is not JSON'],
    ['another cloud', () => writeFileSync(pairing, good.replace(people.origin, 'https://evil.example')), 'was changed'],
    ['removed', () => rmSync(pairing), ''],
  ];
  for (const [what, spoil, why] of bad) {
    spoil();
    await installation.check();
    const seen = await installation.pairing();
    expect([what, seen.state]).toEqual([what, 'unpaired']);
    expect(seen.problem ?? '').toContain(why);
    const doctor = await installation.engine('GET', '/api/factory/doctor');
    expect(doctor.text.includes('Pair this computer again')).toBe(why !== '');
    rmSync(pairing, { force: true });
    writeFileSync(pairing, good, { mode: 0o600 });
    await installation.check();
    expect(await installation.pairing()).toMatchObject({ state: 'paired' });
  }
  await expect.poll(async () => (await installation.pairing()).link?.linked).toBe(true);
  await expect.poll(() => computersOf(ada)).toMatchObject([{ state: 'linked' }]);
});

test('a computer that is revoked at home is cut off at once, and its server says so', async () => {
  const { computerId } = await installation.pairing();
  const token = readFileSync(installation.places.token, 'utf8').trim();
  const streams = await Promise.all([
    fetch(`${people.origin}/api/factory/events`, { headers: { cookie: ada.cookie } }),
    fetch(`${installation.gantry.origin}/api/factory/events`, { headers: { authorization: `Bearer ${token}` } }),
  ]);
  const ended = Promise.all(
    streams.map(async (stream) => {
      expect(stream.status).toBe(200);
      await stream.text().catch(() => {});
    }),
  );
  expect((await ada.call('DELETE', `/api/v1/computers/${computerId}`)).status).toBe(204);
  await ended;
  await expect.poll(async () => (await installation.pairing()).link?.linked).toBe(false);
  await expect.poll(async () => (await installation.pairing()).problem).toContain('pairing was ended there');
  const { json } = await installation.web('GET', '/api/factory/doctor');
  const { checks } = json as unknown as { checks: { name: string; detail: string }[] };
  expect(checks.find(({ name }) => name === 'Pairing')?.detail).toContain('pairing was ended there');
  const refused = await installation.web('GET', '/api/v1/computers');
  expect([refused.status, refused.json.error.code]).toEqual([409, 'needs_person']);
  expect((await installation.web('GET', '/api/factory/teams')).status).toBe(200);
  expect((await installation.web('DELETE', '/api/v1/pairing')).json).toMatchObject({ state: 'unpaired' });
  expect((await installation.web('GET', '/api/v1/computers')).json).toMatchObject({ computers: [{ embedded: true }] });
});

test('from one paired computer the person reaches another one through home, reading and writing', async () => {
  await pairUp(installation, people, ada);
  const other = await startInstallation();
  const { computerId: there } = await pairUp(other, people, ada);
  const body = { botId: 'op@ops', title: 'Deploy failed' };
  mkdirSync(join(other.home, 'ws', '.gantry', 'teams', 'ops'), { recursive: true });
  writeFileSync(
    join(other.home, 'ws', '.gantry', 'teams', 'ops', 'team.yaml'),
    'bots:\n  - {bot: op, harness: shell}\n',
  );
  const names = async (path: string) =>
    ((await installation.web('GET', path)).json as never as { teams: { name: string }[] }).teams.map(
      ({ name }) => name,
    );
  await other.agree();
  await expect.poll(() => names(`/api/factory/teams?computer=${there}`)).toContain('ops');
  expect(await names('/api/factory/teams')).not.toContain('ops');
  const up = await installation.web('POST', `/api/factory/teams/ops/up?computer=${there}`, { body: {} });
  expect(up.status).toBe(200);
  const made = await installation.web('POST', '/api/factory/triggers', {
    body,
    headers: { 'x-gantry-computer': there ?? '' },
  });
  // Its public address is that of home, which brings what is posted there to the computer.
  const { url } = made.json as never as { url: string };
  expect(url.startsWith(`${people.origin}/webhooks/triggers/${there}`)).toBe(true);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(202);
  const tickets = async () => (await other.engine('GET', '/api/factory/tickets')).text;
  await expect.poll(tickets).toContain('Deploy failed');
  await other.gantry.close({ stopBots: true });
  await expect
    .poll(async () => (await installation.web('GET', `/api/factory/teams?computer=${there}`)).status)
    .toBe(502);
  expect((await installation.web('DELETE', `/api/v1/computers/${there}`)).status).toBe(204);
}, 90_000);

test('while home is away what waits here is shown, nothing is answered, and it arrives once home is back', async () => {
  await people.cloud.close();
  await expect.poll(async () => (await installation.pairing()).link?.linked).toBe(false);
  const { since } = (await installation.pairing()).link!;
  await expect
    .poll(async () => (await approvalsOf(installation.web)).waits)
    .toBe('No approvals wait on this computer. Those in the home cloud are not shown.');
  const asked = ask('git push origin away');
  await expect.poll(async () => (await approvalsOf(installation.web)).approvals).toHaveLength(1);
  const { approvals, waits } = await approvalsOf(installation.web);
  expect(waits).toContain('wait on this computer');
  const path = `/api/factory/approvals/${approvals[0]?.id}/resolve`;
  const reply = await installation.web('POST', path, { body: { decision: 'approve' } });
  expect([reply.status, reply.json.error.code]).toEqual([502, 'transport']);
  expect(reply.json.error.fact).toContain(`since ${since}`);
  const settings = await installation.web('GET', '/api/v1/usage');
  expect([settings.status, settings.json.error]).toEqual([502, 'transport']);
  expect((await installation.web('GET', '/api/factory/teams')).status).toBe(200);
  const back = await startPeople({ ...people, baseUrl: people.origin });
  await expect.poll(async () => (await installation.pairing()).link?.linked, { timeout: 40_000 }).toBe(true);
  expect(await shown(ada.call)).toMatchObject([{ id: approvals[0]?.id }]);
  await installation.web('POST', path, { body: { decision: 'approve' } });
  expect(await asked).toMatchObject({ verdict: 'allow' });
  people = back;
});

test('a computer leaves by itself: the cloud forgets it, and what waits is asked here again', async () => {
  const asked = ask('git push origin leaving');
  const [one] = await shown(ada.call);
  expect((await installation.web('DELETE', '/api/v1/pairing?dryRun=1')).json).toMatchObject({ dryRun: true });
  expect((await installation.web('DELETE', '/api/v1/pairing')).json).toMatchObject({ state: 'unpaired' });
  await expect.poll(() => computersOf(ada)).toEqual([]);
  expect(await shown(installation.web)).toMatchObject([{ id: one?.id }]);
  await installation.web('POST', `/api/factory/approvals/${one?.id}/resolve`, { body: { decision: 'approve' } });
  expect(await asked).toMatchObject({ verdict: 'allow', rule: expect.stringContaining('by user_local') });
});
