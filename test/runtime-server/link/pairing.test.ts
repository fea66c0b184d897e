/** A computer's own half of its pairing: what it keeps, when it changes its keys, and what it does not believe. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import { idOf } from '../../cloud-api/link/support.ts';
import { advanceUntil, pairBoth, startBoth, startComputer } from './support.ts';

const day = 24 * 60 * 60_000;
const minute = 60_000;
const signal = () => AbortSignal.timeout(10_000);
const tokens = { method: 'POST', path: '/api/v1/runtime/tokens', body: {} };

test('what is granted holds at once and after a restart, and nothing secret lies open', async () => {
  const both = await startBoth();
  const { area, computer, cloudUrl } = both;
  const homes: string[] = [];
  computer.home.onChange((home) => homes.push(home.kind));
  await pairBoth(both);
  expect(homes).toEqual(['paired']);
  expect(computer.pairing.status()).toMatchObject({ state: 'paired', cloudUrl, user: { id: 'user_ada', name: 'Ada' } });
  const now = computer.home.current();
  expect(now).toMatchObject({ kind: 'paired', credential: `home-of-${idOf('A')}` });
  expect((await computer.home.call({ ...tokens, signal: signal() })).status).toBe(200);
  await computer.close();
  const rest = readFileSync(computer.file, 'latin1') + readFileSync(`${computer.folder}/runtime.db`, 'latin1');
  expect(rest).not.toContain('home-of-');
  expect(rest).not.toContain(now.key);
  const again = await startComputer({ ...computer, clock: area.clock });
  expect(again.home.current()).toMatchObject({ kind: 'paired', key: now.key });
});

test('a computer that was turned away, or whom nobody answered, says why and can ask again', async () => {
  const { area, computer, cloudUrl } = await startBoth();
  const { userCode } = await computer.pairing.begin(cloudUrl);
  expect(computer.pairing.status()).toMatchObject({ state: 'waiting', userCode });
  await area.ada('POST', `/api/v1/pairings/${userCode}/deny`);
  await advanceUntil(area.clock, 500, () => computer.pairing.status().state === 'unpaired');
  expect(computer.pairing.status().problem).toContain('was rejected');
  await computer.pairing.begin(cloudUrl);
  expect(computer.pairing.status().problem).toBeUndefined();
  await advanceUntil(area.clock, minute, () => computer.pairing.status().state === 'unpaired');
  expect(computer.pairing.status().problem).toMatch(/expired at|in time/);
  expect(existsSync(computer.file)).toBe(false);
});

test('a cloud that is gone for a while is asked again until the code is over, and no longer', async () => {
  let answers = 0;
  const both = await startBoth({
    wrapCloud: (cloud) => ({
      ...cloud,
      async poll(url, code) {
        answers += 1;
        return answers <= 5 ? { is: 'unreachable' } : cloud.poll(url, code);
      },
    }),
  });
  await pairBoth(both);
  expect(answers).toBe(6);
  const alone = await startBoth({ wrapCloud: (cloud) => ({ ...cloud, poll: async () => ({ is: 'unreachable' }) }) });
  await alone.computer.pairing.begin(alone.cloudUrl);
  await advanceUntil(alone.area.clock, minute, () => alone.computer.pairing.status().state === 'unpaired');
  expect(alone.computer.pairing.status().problem).toContain('in time');
});

test('a wait that is ended, or replaced by another, takes nothing that comes later', async () => {
  const { area, computer, cloudUrl } = await startBoth();
  const { userCode: first } = await computer.pairing.begin(cloudUrl);
  const { userCode: second } = await computer.pairing.begin(cloudUrl);
  expect((await area.ada('POST', `/api/v1/pairings/${first}/approve`)).status).toBe(409);
  await computer.pairing.end();
  await area.ada('POST', `/api/v1/pairings/${second}/approve`);
  await area.clock.advance(minute);
  expect(computer.pairing.status()).toMatchObject({ state: 'unpaired' });
  expect(existsSync(computer.file)).toBe(false);
});

test('a cloud that grants for another computer, or answers what nobody knows, is not believed', async () => {
  const foreign = await startBoth({
    wrapCloud: (cloud) => ({
      ...cloud,
      async poll(url, code) {
        const polled = await cloud.poll(url, code);
        return polled.is === 'granted' ? { ...polled, grant: { ...polled.grant, computerId: idOf('B') } } : polled;
      },
    }),
  });
  const { userCode } = await foreign.computer.pairing.begin(foreign.cloudUrl);
  await foreign.area.ada('POST', `/api/v1/pairings/${userCode}/approve`);
  await advanceUntil(foreign.area.clock, 500, () => foreign.computer.pairing.status().state === 'unpaired');
  expect(foreign.computer.pairing.status().problem).toContain('another computer');
  expect(existsSync(foreign.computer.file)).toBe(false);
});

test('approvals that wait are named, five of them at most', async () => {
  const waiting = Array.from({ length: 7 }, (_, n) => ({ id: `apr_${n}`, title: `Question ${n}` }));
  const { computer, cloudUrl } = await startBoth({ waiting: async () => waiting });
  const refused = computer.pairing.begin(cloudUrl);
  await expect(refused).rejects.toMatchObject({
    status: 409,
    fact: expect.stringMatching(/^7 approvals.*apr_4\) and 2 more/),
  });
});

test('after thirty days it takes new keys by itself; a cloud that signs with the ones before is heard for an hour', async () => {
  const both = await startBoth();
  const { area, computer } = both;
  await pairBoth(both);
  const before = computer.home.current().key;
  area.clock.jump(30 * day - minute);
  await area.clock.advance(30_000);
  expect(computer.home.current().key).toBe(before);
  await advanceUntil(area.clock, 30_000, () => computer.home.current().key !== before);
  const after = computer.home.current();
  expect(after.keys).toEqual([after.key, before]);
  await expect.poll(async () => (await area.devices.find(idOf('A')))?.keys[0]).toBe(after.key);
  expect((await computer.home.call({ ...tokens, signal: signal() })).status).toBe(200);
  area.clock.jump(61 * minute);
  await computer.pairing.readFile();
  expect(computer.home.current().keys).toEqual([after.key]);
});

test('new keys that were lost on their way lock nobody out', async () => {
  const both = await startBoth();
  const { area, computer } = both;
  await pairBoth(both);
  const before = computer.home.current().key;
  // As if the answer to this had never arrived.
  expect(await area.devices.rotate(idOf('A'))).not.toBeNull();
  area.clock.jump(day);
  expect((await computer.home.call({ ...tokens, signal: signal() })).status).toBe(200);
  await computer.pairing.rotate();
  const { key } = computer.home.current();
  expect(key).not.toBe(before);
  expect((await area.devices.find(idOf('A')))?.keys).toEqual([key, before]);
});

test('a computer whose clock is off learns by how much and is heard', async () => {
  const both = await startBoth();
  await pairBoth(both);
  // The same computer with a clock of its own, forty minutes ahead of the cloud's.
  const { area, computer } = both;
  await computer.close();
  const ahead = { ...area.clock, now: () => area.clock.now() + 40 * minute };
  const off = await startComputer({ ...computer, clock: ahead });
  const first = await off.home.call({ ...tokens, signal: signal() });
  expect([first.status, (first.body as { error: string }).error]).toEqual([401, 'clock_skew']);
  expect((await off.home.call({ ...tokens, signal: signal() })).status).toBe(200);
});

test('the file is read every half minute, and every way in which it may be wrong is said once', async () => {
  const both = await startBoth();
  const { area, computer } = both;
  await pairBoth(both);
  const good = readFileSync(computer.file, 'utf8');
  const parsed = JSON.parse(good) as Record<string, unknown>;
  const change = (fields: object) => JSON.stringify({ ...parsed, ...fields });
  const wrong: [string, string][] = [
    ['{"v":1', 'not JSON'],
    ['[]', 'must be an object'],
    [change({ v: 2 }), 'v: '],
    [change({ extra: true }), 'extra'],
    [change({ ticketKeys: [{ kty: 'RSA' }] }), 'ticketKeys'],
    [change({ computerId: idOf('B') }), 'another computer'],
    [change({ cloudUrl: 'https://evil.example' }), 'was changed'],
    [change({ deviceTokenRef: 'home_other' }), 'not in the database'],
    [change({ user: 'user_bob' }), 'was changed'],
    ['x'.repeat(5000), '5000 bytes'],
  ];
  for (const [text, why] of wrong) {
    writeFileSync(computer.file, text);
    const told = computer.lines.length;
    await advanceUntil(area.clock, 30_000, () => computer.pairing.problem()?.includes(why) === true);
    expect(computer.home.current().kind).toBe('embedded');
    await area.clock.advance(5 * minute);
    const lines = computer.lines.slice(told).filter((line) => line.includes('is not used'));
    expect([why, lines.length]).toEqual([why, 1]);
  }
  chmodSync(computer.file, 0o640);
  await advanceUntil(area.clock, 30_000, () => computer.pairing.problem()?.includes('others may read') === true);
  chmodSync(computer.file, 0o600);
  writeFileSync(computer.file, good);
  await advanceUntil(area.clock, 30_000, () => computer.home.current().kind === 'paired');
  expect(computer.pairing.problem()).toBeNull();
  expect(computer.faults).toEqual([]);
}, 60_000);

test('without the master key that sealed it a pairing is not used', async () => {
  const both = await startBoth();
  await pairBoth(both);
  await both.computer.close();
  const { folder } = both.computer;
  const other = await startComputer({ clock: both.area.clock, folder });
  expect(other.home.current().kind).toBe('embedded');
  expect(other.pairing.problem()).toContain('not in the database');
});

test('a pairing that the cloud ended can still be ended here; one that cannot be told is ended all the same', async () => {
  const both = await startBoth();
  await pairBoth(both);
  await both.area.ada('DELETE', `/api/v1/computers/${idOf('A')}`);
  expect(await both.computer.pairing.end()).toEqual({ state: 'unpaired', computerId: idOf('A') });
  const lost = await startBoth();
  await pairBoth(lost);
  const { key } = lost.computer.home.current();
  lost.computer.home.become({
    ...lost.computer.home.current(),
    kind: 'paired',
    cloudUrl: 'http://127.0.0.1:9',
    credential: 'x',
    ticketKeys: [],
  });
  expect((await lost.computer.pairing.end()).problem).toContain('could not be notified');
  expect(existsSync(lost.computer.file)).toBe(false);
  expect(await lost.computer.store.read((tx) => tx.all('SELECT * FROM home_secret'))).toEqual([]);
  expect((await lost.area.devices.find(idOf('A')))?.keys).toEqual([key]);
});

test('what a cloud signs is taken from the home and from the server of the same process, and not any more once it is over', async () => {
  const both = await startBoth();
  const { computer } = both;
  const own = computer.home.current().key;
  await pairBoth(both);
  const { key } = computer.home.current();
  expect(computer.home.keysOf(idOf('A'))).toEqual([key, own]);
  expect(computer.home.keysOf(idOf('B'))).toEqual([]);
  await computer.pairing.end();
  expect(computer.home.keysOf(idOf('A'))).toEqual([own]);
  expect(own).not.toBe(signingKey(''));
});
