/**
 * What a hosted driver promises, on its real engine: one suite over the port, run over each driver. A driver is done when this is green, and never
 * before.
 */
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type {
  ComputerSpec,
  DriverChange,
  DriverState,
  OfferingDriver,
} from '../../../src/cloud-api/hosted-computers/driver.ts';
import { startHosted } from '../../cloud-api/hosted-computers/support.ts';
import { callOver, type LinkedComputer, linkComputer } from '../../support/computers/dialled.ts';
import { world } from '../../support/computers/world.ts';
import { engines } from '../../support/engines.ts';
import { forbidden, ofTheMachine, reachable, to, triesAtSocket } from './probes.ts';
import type { DriverSubject } from './subject.ts';

const named = (number: number) => `cmp_${String(number).padStart(12, '0')}`;
const [one, two] = [named(1), named(2)];
const unlimited = { memory: null, processes: null };
const specOf = (computer: string, more: Partial<ComputerSpec> = {}): ComputerSpec => ({
  computer,
  key: `${computer}.1`,
  image: null,
  limits: unlimited,
  toolset: 'desktop',
  egress: 'public',
  lifetime: null,
  ...more,
});
const schema = '/api/v1/computers/this-device/toolset/schema?toolset=';
/** Dials of it are taken by nobody. */
const nobody = { computer: one, key: 'k'.repeat(64), at: 0 };
const patience = 240_000;

export function describeDriver(name: string, missing: string | null, open: () => Promise<DriverSubject>): void {
  if (missing !== null) console.warn(`Not run: the driver ${name} on its engine (${missing}).`);

  describe.skipIf(missing !== null)(`the driver ${name}`, () => {
    let subject: DriverSubject;
    let driver: OfferingDriver;

    const spec = (computer: string, more: Partial<ComputerSpec> = {}) =>
      specOf(computer, { toolset: subject.toolset, ...more });
    const made = async (computer: string, more: Partial<ComputerSpec> = {}): Promise<DriverState> => {
      await driver.create(spec(computer, more));
      return driver.start(computer);
    };
    const toolset = () => (subject.toolset === 'shell' ? 'shell' : 'computer');
    const linked = async (computer: string): Promise<LinkedComputer> => {
      const link = await linkComputer(computer, (dial) => driver.offer(computer, dial));
      onTestFinished(() => link.close());
      return link;
    };
    const once = <Result>(computer: string, work: (link: LinkedComputer) => Promise<Result>) =>
      callOver(computer, (dial) => driver.offer(computer, dial), work);
    const answersOver = async (link: LinkedComputer) => (await link.call('GET', `${schema}${toolset()}`)).status;
    const answers = ({ computer }: DriverState) => once(computer, answersOver);
    const stateOf = async (computer: string) => (await driver.inspect(computer))?.state ?? null;
    const watching = (since: string | null) => {
      const changes: DriverChange[] = [];
      const missed: string[] = [];
      onTestFinished(
        driver.watch(since, { changed: (change) => changes.push(change), missed: () => missed.push('missed') }),
      );
      const of = (computer: string) => changes.filter((change) => change.computer === computer);
      return { changes, missed, states: (computer: string) => of(computer).map(({ state }) => state) };
    };

    beforeAll(async () => {
      subject = await open();
      driver = subject.connect();
    }, patience);
    afterEach(async () => {
      for (const { computer } of await driver.list()) await driver.delete(computer);
    }, patience);
    afterAll(async () => {
      driver?.close();
      await subject?.close();
    }, patience);

    test('says what it can, and nothing that this suite does not find', async () => {
      expect(await driver.away()).toBe(null);
      expect(await driver.capabilities()).toEqual({ refused: null, ...subject.promises });
      // The cloud makes no computer without it.
      expect(subject.promises.egress).toBe('enforced');
    });

    test('life: a computer is made, called, stopped with its files, started anew and deleted, each as often as asked', {
      timeout: patience,
    }, async () => {
      expect(await driver.create(spec(one))).toMatchObject({
        computer: one,
        state: 'stopped',
        why: null,
      });
      const first = await driver.start(one);
      expect(first).toMatchObject({ computer: one, state: 'running', why: null });
      expect(await driver.start(one)).toEqual(first);
      expect(await driver.wake(one)).toEqual(first);
      expect(await answers(first)).toBe(200);
      // An answer was lost: the same create changes nothing, and a stranger's gets nothing.
      expect(await driver.create(spec(one))).toEqual(first);
      await expect(driver.create(spec(one, { key: 'another' }))).rejects.toMatchObject({ code: 'exists' });
      const before = await linked(one);
      expect(await answersOver(before)).toBe(200);
      await driver.stop(one);
      await driver.stop(one);
      expect(await driver.inspect(one)).toMatchObject({ state: 'stopped', why: null });
      await expect(driver.offer(one, nobody)).rejects.toMatchObject({ code: 'not_running' });
      for (const step of ['sleep', 'wake'] as const) {
        await expect(driver[step](one)).rejects.toMatchObject({ code: 'not_running' });
      }
      const again = await driver.start(one);
      expect(await answers(again)).toBe(200);
      // Its link ended with it.
      await expect(answersOver(before)).rejects.toThrow();
      expect((await driver.list()).map(({ computer }) => computer)).toEqual([one]);
      await driver.delete(one);
      await driver.delete(one);
      expect([await driver.inspect(one), await driver.list(), subject.remains()]).toEqual([null, [], []]);
      await expect(driver.start(one)).rejects.toMatchObject({ code: 'not_found' });
    });

    test('caps: the kernel holds a computer to its limits, and more than the engine gives is refused', {
      timeout: patience,
    }, async () => {
      const { limits, images } = subject.promises;
      const asked = { memory: 900, processes: 400 };
      if (limits.memory && limits.processes) {
        await made(one, { limits: asked });
        expect(subject.limitsOf(one)).toEqual(asked);
        await made(two);
        const usual = subject.limitsOf(two);
        expect(usual.memory).toBeGreaterThan(asked.memory);
        for (const more of [{ memory: usual.memory + 1 }, { processes: usual.processes + 1 }]) {
          const refused = driver.create(spec(named(3), { limits: { ...unlimited, ...more } }));
          await expect(refused).rejects.toMatchObject({ code: 'unsupported' });
        }
      } else {
        await expect(driver.create(spec(one, { limits: asked }))).rejects.toMatchObject({ code: 'unsupported' });
      }
      if (!images) {
        const refused = driver.create(spec(named(4), { image: 'debian:12' }));
        await expect(refused).rejects.toMatchObject({ code: 'unsupported' });
      }
      expect((await driver.list()).map(({ computer }) => computer)).not.toContain(named(4));
    });

    test('lifetime: a computer is stopped when its time is over, with the reason, and may be started again', {
      timeout: patience,
    }, async () => {
      const heard = watching(null);
      await made(one, { lifetime: 4_000 });
      await expect.poll(() => stateOf(one)).toBe('stopped');
      expect((await driver.inspect(one))?.why).toContain('lifetime of 4 s');
      await expect.poll(() => heard.changes.at(-1)).toMatchObject({ computer: one, state: 'stopped' });
      expect((await driver.start(one)).state).toBe('running');
    });

    test('sleep: a call waits while the computer sleeps, and what it keeps is what the driver says', {
      timeout: patience,
    }, async () => {
      await made(one);
      const link = await linked(one);
      await driver.sleep(one);
      await driver.sleep(one);
      expect(await stateOf(one)).toBe('sleeping');
      if (subject.promises.sleep === 'memory') {
        const asked = answersOver(link);
        // Nothing may happen: one that runs answers within milliseconds.
        const soon = new Promise((resolve) => setTimeout(resolve, 300, 'nothing'));
        expect(await Promise.race([asked, soon])).toBe('nothing');
        await expect(driver.offer(one, nobody)).rejects.toMatchObject({ code: 'sleeping' });
        await driver.wake(one);
        expect(await asked).toBe(200);
      } else {
        expect(await answers(await driver.wake(one))).toBe(200);
      }
      await driver.sleep(one);
      expect((await driver.start(one)).state).toBe('running');
      await driver.sleep(one);
      await driver.stop(one);
      expect(await stateOf(one)).toBe('stopped');
    });

    test('events: a watch tells each state once and in order, and continues after any cursor', {
      timeout: patience,
    }, async () => {
      const heard = watching(null);
      await made(one);
      await driver.sleep(one);
      await driver.wake(one);
      subject.crash(one);
      await expect.poll(() => heard.states(one)).toEqual(['starting', 'running', 'sleeping', 'running', 'stopped']);
      const ended = heard.changes.at(-1)!;
      expect(ended.why).toContain('ended');
      expect(await driver.inspect(one)).toMatchObject({ state: 'stopped', why: ended.why, since: expect.any(Number) });
      await driver.delete(one);
      await expect.poll(() => heard.states(one).at(-1)).toBe('gone');
      const later = watching(heard.changes[1]!.cursor);
      await expect.poll(() => later.changes).toEqual(heard.changes.slice(2));
      expect([...heard.missed, ...later.missed]).toEqual([]);
      const lost = watching('of nobody');
      await expect.poll(() => lost.missed).toEqual(['missed']);
      expect(lost.changes).toEqual([]);
    });

    test('meters: its cloud counts the minutes that a computer is awake, and no others', {
      timeout: patience,
    }, async () => {
      const cloud = await startHosted(engines[0]!, { driver: subject.connect() });
      await cloud.project();
      const { id } = await cloud.create({ toolset: subject.toolset });
      const act = () =>
        cloud.act(id, toolset() === 'shell' ? { toolset: 'shell', member: 'exec', input: { command: 'true' } } : {});
      const phase = async () => (await cloud.send('GET', cloud.at(id))).body;
      expect(await act()).toMatchObject({ status: 200, is_error: false });
      cloud.clock.jump(301_000);
      await cloud.until(async () => (await phase()).sleeping);
      // The cloud writes down what it wants before the driver does it.
      await expect.poll(() => stateOf(id)).toBe('sleeping');
      expect((await phase()).sleep_keeps).toBe(subject.promises.sleep);
      expect(await cloud.meters(id)).toEqual({ minutes: 5, actions: 1 });
      cloud.clock.jump(3_600_000);
      expect(await act()).toMatchObject({ status: 200, is_error: false });
      cloud.clock.jump(60_000);
      subject.crash(id);
      await expect.poll(async () => (await phase()).status).toBe('error');
      const { minutes, actions } = await cloud.meters(id);
      expect([minutes, actions]).toEqual([6, 2]);
      expect((await cloud.types(id)).slice(-2)).toEqual(['action.completed', 'computer.failed']);
      expect((await cloud.send('DELETE', cloud.at(id))).status).toBe(200);
      expect([await driver.inspect(id), subject.remains()]).toEqual([null, []]);
    });

    test('probes: from inside, public addresses are reached and no others; without egress none is', {
      timeout: patience,
    }, async () => {
      await made(one);
      await made(two);
      await made(named(3), { egress: 'none' });
      const neighbour = { 'another computer': to(await subject.addressOf(two)) };
      const refused = { ...forbidden, ...ofTheMachine };
      expect(new Set(Object.values(subject.probeFreely({ ...reachable, ...refused })))).toEqual(new Set(['open']));
      expect(subject.probe(one, reachable)).toEqual({ 'public IPv4': 'open', 'public IPv6': 'open' });
      const reached = Object.entries(subject.probe(one, { ...refused, ...neighbour })).filter(
        ([, came]) => came === 'open',
      );
      expect(reached).toEqual([]);
      const all = { ...reachable, ...refused, ...neighbour };
      expect(Object.values(subject.probe(named(3), all))).not.toContain('open');
      // It is called all the same: what it dials on is no network.
      expect(await answers((await driver.inspect(named(3)))!)).toBe(200);
    });

    test('dial: a connection is only for the program of its computer, and the newest one counts', {
      timeout: patience,
    }, async () => {
      await made(one);
      const first = await linked(one);
      const second = await linked(one);
      expect(await answersOver(second)).toBe(200);
      await expect(answersOver(first)).rejects.toThrow();
      // What its own user reaches of it, with everything that its programs have: nothing to connect to, to look at or to put in its place.
      const { user, ...tries } = triesAtSocket(subject, one);
      expect([user, tries]).toEqual([true, { connects: 'EACCES', lists: 'EACCES', replaces: 'EACCES' }]);
      expect(await answersOver(second)).toBe(200);
    });

    test('shell: a computer without a screen runs commands and keeps files, and its user reaches neither Gantry nor the machine', {
      timeout: patience,
    }, async () => {
      const state = await made(one, { toolset: 'shell' });
      const exec = async (at: DriverState, line: string) => {
        const command = { command: line, shell: true };
        const { status, body } = await once(at.computer, (link) => link.drive('shell', 'exec', command));
        expect([status, body.is_error]).toEqual([200, false]);
        const [out] = body.content.map((part) => (part.type === 'text' ? part.text : ''));
        return { out: out!.trim(), code: body.exec?.exit_code };
      };
      expect(await exec(state, 'id -un; hostname; pwd; echo kept > kept')).toEqual({
        out: 'user\ncomputer\n/home/user',
        code: 0,
      });
      const dial = (host: string, port = 8080) =>
        exec(state, `timeout 3 bash -c 'exec 3<>/dev/tcp/${host}/${port}' 2>/dev/null`);
      expect((await dial(world.public4)).code).toBe(0);
      for (const host of [world.uplink4, world.second4, world.own4, '10.9.9.9', '169.254.169.254', '127.0.0.1']) {
        expect([host, (await dial(host)).code]).not.toEqual([host, 0]);
      }
      // Neither its own program's files, socket and processes, nor anything of its machine.
      const seen = await exec(
        state,
        'ls -A /var/lib /run /opt /home /root /work 2>/dev/null; cat /proc/[0-9]*/comm | grep -c node',
      );
      expect(seen.out.split('\n').filter((line) => !/^(\/\w+(\/\w+)?:|user|)$/.test(line))).toEqual(['0']);
      await exec(state, 'kill -9 -1');
      expect((await once(one, (link) => link.drive('computer', 'screenshot'))).status).toBe(400);
      await driver.stop(one);
      expect(await exec(await driver.start(one), 'cat kept')).toEqual({ out: 'kept', code: 0 });
      const shells = await Promise.all(
        [2, 3, 4, 5, 6, 7, 8, 9].map((number) => made(named(number), { toolset: 'shell' })),
      );
      const said = await Promise.all(shells.map((shell, index) => exec(shell, `echo ${index}`)));
      expect(said.map(({ out }) => out)).toEqual(shells.map((_, index) => String(index)));
    });

    test('kills: computers outlive what serves the driver; a watch says that it missed what it cannot know', {
      timeout: patience,
    }, async () => {
      const heard = watching(null);
      const first = await made(one);
      await made(two);
      const link = await linked(one);
      await driver.sleep(two);
      await made(named(3));
      await driver.stop(named(3));
      await subject.kill();
      expect([await answersOver(link), await answers(first)]).toEqual([200, 200]);
      const states = new Map((await driver.list()).map((state) => [state.computer, state]));
      expect(states.get(one)).toMatchObject({ state: 'running' });
      expect(states.get(two)).toMatchObject({ state: 'sleeping' });
      expect(states.get(named(3))).toMatchObject({ state: 'stopped' });
      await expect.poll(() => heard.missed).toEqual(['missed']);
      expect(await answers(await driver.wake(two))).toBe(200);
      await expect.poll(() => heard.states(two).at(-1)).toBe('running');
      subject.crash(one);
      await expect.poll(() => heard.states(one).at(-1)).toBe('stopped');
    });

    test('orphans: a kill in the middle of a start leaves nothing that a delete does not remove', {
      timeout: patience,
    }, async () => {
      const heard = watching(null);
      const cut = made(one).catch((fault: Error) => fault);
      await expect.poll(() => heard.states(one)).toContain('starting');
      await subject.kill();
      expect(await cut).toBeInstanceOf(Error);
      // Whether it came up or not: it is known by its name, or nothing of it is there.
      const known = (await driver.list()).map(({ computer }) => computer);
      expect(known.length > 0 || subject.remains().length === 0).toBe(true);
      expect(await answers(await made(one))).toBe(200);
      await driver.delete(one);
      expect(subject.remains()).toEqual([]);
    });

    test('many at once: each is its own, all are called, and all go', { timeout: patience }, async () => {
      const names = [1, 2, 3, 4, 5, 6].map(named);
      const states = await Promise.all(names.map((computer) => made(computer)));
      expect(await Promise.all(states.map(answers))).toEqual(names.map(() => 200));
      await Promise.all(names.map((computer) => driver.sleep(computer)));
      await Promise.all(names.map((computer) => driver.delete(computer)));
      expect([await driver.list(), subject.remains()]).toEqual([[], []]);
    });
  });
}
