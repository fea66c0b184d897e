/** Which of several computer hosts gets a computer, and where what is asked of it goes then. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ComputerSpec, DriverFault, type OfferingDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { createHostsDriver } from '../../../src/cloud-api/hosted-computers/hosts-driver.ts';
import { createHostStore } from '../../../src/cloud-api/hosted-computers/hosts-store.ts';
import { hostedComputerMigrations } from '../../../src/cloud-api/hosted-computers/index.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { createSubstituteDriver } from './substitute-driver.ts';
import { startHosted } from './support.ts';

const specOf = (computer: string): ComputerSpec => ({
  computer,
  key: `${computer}.1`,
  image: null,
  limits: { memory: null, processes: null },
  toolset: 'shell',
  egress: 'public',
  lifetime: null,
});
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (fault: Error) => fault.message,
  );

describe.each(engines)('computers of several hosts on $name', (engine) => {
  async function open() {
    const clock = createTestClock();
    const store = await (await engine.place()).open([...hostedComputerMigrations], clock);
    const hosts = createHostStore(store, () => clock.now());
    /** Each has room for so many. */
    const host = (room: number) => {
      const substitute = createSubstituteDriver(() => clock.now());
      onTestFinished(() => substitute.close());
      const driver: OfferingDriver = {
        ...substitute.driver,
        async create(spec) {
          const there = substitute.computers();
          if (!there.includes(spec.computer) && there.length >= room) throw new DriverFault('full', 'It is full.');
          return substitute.driver.create(spec);
        },
      };
      return { substitute, driver };
    };
    const [here, first, second] = [host(1), host(1), host(2)];
    await hosts.add('host_first0000', 'first');
    clock.jump(1);
    await hosts.add('host_second000', 'second');
    const open = ({ id }: { readonly id: string }) => (id === 'host_first0000' ? first : second).driver;
    const driver = createHostsDriver({ local: here.driver, hosts, open });
    const computers = () => [here, first, second].map(({ substitute }) => substitute.computers());
    return {
      driver,
      hosts,
      here,
      first,
      second,
      computers,
      again: () => createHostsDriver({ local: here.driver, hosts, open }),
    };
  }

  test('each machine tells its room under its name, in the order in which they get computers', async () => {
    const { driver } = await open();
    await driver.create(specOf('cmp_one'));
    await driver.create(specOf('cmp_two'));
    const told = (await driver.hosts()).map(({ name, computers }) => [name, computers]);
    expect(told).toEqual([
      [null, 1],
      ['first', 1],
      ['second', 0],
    ]);
  });

  test('the first with room gets the next one, in the order in which they joined; where none has, it says so', async () => {
    const { driver, computers, hosts } = await open();
    for (const name of ['a', 'b', 'c', 'd']) await driver.create(specOf(name));
    expect(computers()).toEqual([['a'], ['b'], ['c', 'd']]);
    expect((await hosts.counted()).map((one) => one.computers)).toEqual([1, 2]);
    await expect(driver.create(specOf('e'))).rejects.toMatchObject({ code: 'full' });
    expect(await hosts.placeOf('e')).toBe(null);
    await driver.delete('b');
    await driver.create(specOf('e'));
    expect(computers()).toEqual([['a'], ['e'], ['c', 'd']]);
    // A repeated create goes where the first one went.
    await driver.create(specOf('d'));
    expect(computers()).toEqual([['a'], ['e'], ['c', 'd']]);
  });

  test('what is asked of a computer goes to its host, also by another replica; a host that is away takes only its own with it', async () => {
    const { driver, again, here, first, second } = await open();
    for (const name of ['a', 'b', 'c']) await driver.create(specOf(name));
    const other = again();
    await other.start('b');
    await other.start('c');
    expect([first.substitute.state('b'), second.substitute.state('c')]).toEqual(['running', 'running']);
    first.substitute.settings.away = 'The computer host first is not linked.';
    expect(await driver.away()).toBe(null);
    expect(await driver.away('a')).toBe(null);
    expect(await driver.away('b')).toBe('The computer host first is not linked.');
    await driver.create(specOf('d'));
    expect(second.substitute.computers()).toEqual(['c', 'd']);
    here.substitute.settings.away = 'No computer-host runs here.';
    second.substitute.settings.away = 'The computer host second is not linked.';
    expect(await driver.away()).toBe('No computer-host runs here.');
    expect(await faultOf(driver.create(specOf('e')))).toBe('No computer-host runs here.');
  });

  test('a host that was removed takes its computers with it, and a delete of one is done', async () => {
    const { driver, hosts, first } = await open();
    for (const name of ['a', 'b']) await driver.create(specOf(name));
    expect(await hosts.remove('host_first0000')).toMatchObject({ name: 'first', computers: 1 });
    expect([await driver.inspect('b'), await driver.away('b')]).toEqual([null, null]);
    await expect(driver.start('b')).rejects.toMatchObject({ code: 'not_found' });
    await driver.delete('b');
    expect(await hosts.placeOf('b')).toBe(null);
    // Whoever runs that machine ends it there.
    expect(first.substitute.computers()).toEqual(['b']);
    expect((await driver.list()).map(({ computer }) => computer)).toEqual(['a']);
  });

  test('a watch hears what happens at every host, also at one that joins later', async () => {
    const { driver, here, second } = await open();
    const heard: string[] = [];
    const stop = driver.watch(null, { changed: ({ computer }) => heard.push(computer), missed: () => {} });
    await driver.capabilities();
    here.substitute.say({ computer: 'a', state: 'stopped', why: 'x' });
    second.substitute.say({ computer: 'c', state: 'stopped', why: 'x' });
    expect(heard).toEqual(['a', 'c']);
    stop();
    second.substitute.say({ computer: 'd', state: 'stopped', why: 'x' });
    expect(heard).toEqual(['a', 'c']);
  });

  test('a cloud whose driver makes all computers adds no host, also not for trying it out, and says why', async () => {
    const { send } = await startHosted(engine);
    const token = 'ada/admin';
    const path = '/api/v1/admin/computer-hosts';
    for (const body of [{ name: 'attic' }, { name: 'attic', dryRun: true }]) {
      expect(await send('POST', path, { token, body })).toMatchObject({
        status: 409,
        error: 'hosts_not_used',
        message: expect.stringMatching(/"attic" was not added: the driver substitute .* GANTRY_COMPUTERS_ENGINE\.$/),
      });
    }
    expect(await send('GET', path, { token })).toMatchObject({ status: 200, hosts: [] });
  });
});
