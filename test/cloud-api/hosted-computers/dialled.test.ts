/** How computers dial their cloud: with a credential of their start, over what their own cloud offers them, and the newest link counts. */
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createCredentials,
  createTakeOffered,
  type OfferingDriver,
} from '../../../src/cloud-api/hosted-computers/index.ts';
import { type Dial, offerAt } from '../../../src/kit/link/offer.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { createSubstituteDriver } from './substitute-driver.ts';
import { startHosted } from './support.ts';

/** Resolves with everything that came before it closed. */
function closed(socket: Socket): Promise<string> {
  let came = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    came += chunk.toString('latin1');
  });
  return new Promise((resolve) => socket.once('close', () => resolve(came)));
}

describe.each(engines)('computers that dial on $name', (engine) => {
  async function open() {
    const cloud = await startHosted(engine);
    await cloud.project();
    const { substitute, dialIns } = cloud;
    const take = createTakeOffered(dialIns.handleUpgrade);
    /** The program in `at` dials as it is told, on a connection that this cloud takes for the dial of `expected`. */
    async function dials(at: string, dial: Dial, expected = dial.computer): Promise<'linked' | 'refused'> {
      const connection = await offerAt(substitute.socketOf(at), substitute.secretOf(at), dial);
      return new Promise((resolve) => {
        onTestFinished(dialIns.onChange((id, linked) => id === dial.computer && linked && resolve('linked')));
        connection.once('close', () => resolve('refused'));
        take(expected, connection);
      });
    }
    /** As this cloud told it to dial last. */
    const dialOf = (id: string) => ({
      ...substitute.offers.findLast(({ computer }) => computer === id)!,
      at: cloud.clock.now(),
    });
    return { ...cloud, dials, dialOf };
  }

  test('one that dials twice has one link, the newest; what was asked before is answered, and calls go on', async () => {
    const { create, act, dials, dialOf, dialIns, substitute } = await open();
    const { id } = await create();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { answer } = substitute.settings;
    substitute.settings.answer = async (question) => {
      await held;
      return answer(question);
    };
    const before = act(id);
    await expect.poll(() => substitute.heard.length).toBe(1);
    expect(await dials(id, dialOf(id))).toBe('linked');
    const after = act(id);
    await expect.poll(() => substitute.heard.length).toBe(2);
    release();
    expect([(await before).status, (await after).status]).toEqual([200, 200]);
    expect(dialIns.linked()).toEqual([id]);
    expect(substitute.offers).toHaveLength(1);
  });

  test('no computer dials as another one: not with its own credential, and not on its own connection', async () => {
    const { create, act, dials, dialOf, substitute } = await open();
    const [one, two] = [await create(), await create()];
    const [ofOne, ofTwo] = [dialOf(one.id), dialOf(two.id)];
    expect(ofOne.key).not.toBe(ofTwo.key);
    expect(await dials(one.id, { ...ofOne, computer: two.id })).toBe('refused');
    expect(await dials(one.id, { ...ofTwo, computer: one.id })).toBe('refused');
    expect(await dials(one.id, ofTwo, one.id)).toBe('refused');
    // Both are called as before.
    for (const { id } of [one, two]) expect((await act(id)).status).toBe(200);
    expect(substitute.heard.map(({ computer }) => computer)).toEqual([one.id, two.id]);
  });

  test('a credential ends with its start: after a stop, after the next start, and after the computer was deleted', async () => {
    const { create, act, send, at, dials, dialOf, dialIns } = await open();
    const [one, two] = [await create(), await create()];
    const first = dialOf(one.id);
    await send('POST', at(one.id, '/stop'));
    // The program of the other one takes its part: it knows what that one knew.
    expect(await dials(two.id, first)).toBe('refused');
    await send('POST', at(one.id, '/start'));
    expect(dialOf(one.id).key).not.toBe(first.key);
    expect(await dials(two.id, first)).toBe('refused');
    const last = dialOf(one.id);
    expect((await act(one.id)).status).toBe(200);
    await send('DELETE', at(one.id));
    expect(await dials(two.id, last)).toBe('refused');
    expect(dialIns.state(one.id).linked).toBe(false);
  });

  test('the credential of another cloud on the same engine is refused', async () => {
    const { create, dials, dialOf, clock, store } = await open();
    const { id } = await create();
    const sealer = createSealer({ masterKey: 'the master key of another cloud, as long', purpose: 'hosted computer' });
    const row = await store.get(
      'SELECT id, phase, starts, created_at AS "createdAt" FROM hosted_computer WHERE id = ?',
      id,
    );
    const key = createCredentials({ store, clock, sealer }).keyOf(row as never)!;
    expect(await dials(id, { ...dialOf(id), key })).toBe('refused');
  });

  test('nothing but the dial is taken on an offered connection: no route of the cloud is behind it', async () => {
    const { create, dialIns, substitute } = await open();
    const { id } = await create();
    const path = `${substitute.socketOf(id)}.other`;
    for (const target of ['/api/v1/health', '/api/v1/link', '/']) {
      const server = createServer((socket) => socket.write(`GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`));
      await new Promise<void>((resolve) => server.listen(path, resolve));
      const connection = connect(path);
      const over = new Promise((resolve) => connection.once('close', resolve));
      createTakeOffered(dialIns.handleUpgrade)(id, connection);
      await over;
      expect([target, connection.bytesWritten]).toEqual([target, 0]);
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test('a program takes no connection that its own cloud did not offer', async () => {
    const { create, act, dialOf, substitute } = await open();
    const { id } = await create();
    const path = substitute.socketOf(id);
    const offered = closed(await offerAt(path, 'a process in the computer, which does not know it', dialOf(id)));
    expect(await offered).toBe('');
    for (const said of ['GET / HTTP/1.1\r\n\r\n', '{"dial":null}\n', 'x'.repeat(2000)]) {
      const socket = connect(path);
      const came = closed(socket);
      socket.write(said);
      expect(await came).toBe('');
    }
    expect((await act(id)).status).toBe(200);
    expect(substitute.offers).toHaveLength(1);
  });

  test('a link that was cut is dialled again, by the next call or before it', async () => {
    const { create, act, substitute, dialIns, until } = await open();
    const { id } = await create();
    dialIns.end(id, 'A cable was pulled.');
    expect((await act(id)).status).toBe(200);
    dialIns.end(id, 'A cable was pulled.');
    await until(async () => dialIns.state(id).linked);
    expect(substitute.offers).toHaveLength(3);
  });

  test('one that dials without an offer gets its key with its start, and its cloud waits for the link of that start', async () => {
    const clock = createTestClock();
    const substitute = createSubstituteDriver(() => clock.now());
    onTestFinished(() => substitute.close());
    const { driver } = substitute;
    const dialled: Dial[] = [];
    /** As what runs beside a computer would, as soon as it may. */
    let dials = async (_: Dial) => {};
    const start =
      (how: 'start' | 'wake'): OfferingDriver['start'] =>
      async (computer, dial) => {
        const state = await driver[how](computer, dial);
        dialled.push(dial!);
        void dials(dial!);
        return state;
      };
    const cloud = await startHosted(engine, {
      clock,
      substitute,
      driver: { ...driver, offer: null, start: start('start'), wake: start('wake') },
    });
    await cloud.project();
    const take = createTakeOffered(cloud.dialIns.handleUpgrade);
    const connected: Socket[] = [];
    dials = async (dial) => {
      const connection = await offerAt(substitute.socketOf(dial.computer), substitute.secretOf(dial.computer), dial);
      connected.push(connection);
      take(dial.computer, connection);
    };
    const { id } = await cloud.create();
    expect((await cloud.act(id)).status).toBe(200);
    expect(dialled).toMatchObject([{ computer: id, key: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
    clock.jump(301_000);
    await cloud.until(async () => (await cloud.send('GET', cloud.at(id))).body.sleeping);
    // The former link is still there when the computer is woken, and is not taken for the new one.
    expect(cloud.dialIns.linked()).toEqual([id]);
    const before = cloud.dialIns.credential(id);
    expect((await cloud.act(id)).status).toBe(200);
    expect(cloud.dialIns.credential(id)).not.toBe(before);
    // One that was cut is dialled again from beside the computer; a call waits for it.
    for (const connection of connected) connection.destroy();
    await expect.poll(() => cloud.dialIns.linked()).toEqual([]);
    const waits = cloud.act(id);
    await dials({ ...dialled.at(-1)!, at: clock.now() });
    expect((await waits).status).toBe(200);
    expect(dialled).toHaveLength(2);
  });
});
