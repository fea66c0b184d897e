/**
 * The driver `namespace` over several machines: this one's computer host, and those that joined. A new computer is made by the first that has room, in
 * the order in which they were added, and stays there. Must not know how a host is reached.
 */
import type { DriverCapabilities, DriverState, DriverWatcher, OfferingDriver } from './driver.ts';
import { DriverFault } from './driver.ts';
import type { HostRow, HostStore } from './hosts-store.ts';

interface Joined {
  readonly driver: OfferingDriver;
  /** Ends what watches it. */
  readonly stops: Map<DriverWatcher, () => void>;
}

interface Machine {
  /** Null, as its name: this one. */
  readonly id: string | null;
  readonly name: string | null;
  readonly driver: OfferingDriver;
}

/** What one host cannot make, the next one may. */
const tryNext: ReadonlySet<string> = new Set(['full', 'unsupported', 'not_here']);

export function createHostsDriver({
  local,
  hosts,
  open,
}: {
  /** Of this machine. */
  readonly local: OfferingDriver;
  readonly hosts: Pick<HostStore, 'list' | 'placeOf' | 'setPlace'>;
  readonly open: (host: HostRow) => OfferingDriver;
}): OfferingDriver {
  const joined = new Map<string, Joined>();
  const watchers = new Set<DriverWatcher>();

  function driverOf(host: HostRow): OfferingDriver {
    const known = joined.get(host.id);
    if (known !== undefined) return known.driver;
    const made: Joined = { driver: open(host), stops: new Map() };
    joined.set(host.id, made);
    for (const watcher of watchers) follow(made, watcher);
    return made.driver;
  }

  // Changes of several hosts have no common order, so no cursor leads into all of them.
  function follow({ driver, stops }: Joined, watcher: DriverWatcher): void {
    stops.set(watcher, driver.watch(null, watcher));
  }

  /** Those that are there, in their order. */
  async function all(): Promise<readonly Machine[]> {
    const rows = await hosts.list();
    for (const [id, { driver }] of joined) {
      if (rows.some((row) => row.id === id)) continue;
      joined.delete(id);
      driver.close();
    }
    return [
      { id: null, name: null, driver: local },
      ...rows.map((row) => ({ id: row.id, name: row.name, driver: driverOf(row) })),
    ];
  }

  /** Null: its host was removed, and the computer with it. */
  async function having(computer: string): Promise<OfferingDriver | null> {
    const host = await hosts.placeOf(computer);
    if (host === null) return local;
    return host.removedAt === null ? driverOf(host) : null;
  }

  async function at<Result>(computer: string, work: (driver: OfferingDriver) => Promise<Result>): Promise<Result> {
    const driver = await having(computer);
    if (driver === null) throw new DriverFault('not_found', `The computer host of ${computer} was removed.`);
    return work(driver);
  }

  async function create(spec: Parameters<OfferingDriver['create']>[0]): Promise<DriverState> {
    const { computer } = spec;
    const placed = await hosts.placeOf(computer);
    if (placed !== null) return at(computer, (driver) => driver.create(spec));
    let refusal: unknown = null;
    for (const { id, driver } of await all()) {
      const away = await driver.away();
      if (away !== null) {
        refusal ??= new Error(away);
        continue;
      }
      // Before it is made, so that after a kill in between it is known where to look for it.
      if (id !== null) await hosts.setPlace(computer, id);
      try {
        return await driver.create(spec);
      } catch (fault) {
        if (!(fault instanceof DriverFault) || !tryNext.has(fault.code)) throw fault;
        refusal = fault;
        if (id !== null) await hosts.setPlace(computer, null);
      }
    }
    throw refusal;
  }

  async function capabilities(): Promise<DriverCapabilities> {
    const said = await Promise.all((await all()).map(({ driver }) => driver.capabilities()));
    const able = said.filter(({ refused }) => refused === null);
    const [first] = able;
    if (first === undefined) return said[0]!;
    const warm = able.flatMap((one) => one.warm ?? []);
    const sum = (toolset: 'desktop' | 'shell') => warm.reduce((count, one) => count + one[toolset], 0);
    return { ...first, warm: warm.length === 0 ? null : { desktop: sum('desktop'), shell: sum('shell') } };
  }

  return {
    name: local.name,
    async away(computer) {
      if (computer !== undefined) return (await having(computer))?.away() ?? null;
      const said = await Promise.all((await all()).map(({ driver }) => driver.away()));
      return said.includes(null) ? null : said[0]!;
    },
    capabilities,
    hosts: async () =>
      (
        await Promise.all(
          (await all()).map(async ({ name, driver }) => (await driver.hosts()).map((host) => ({ ...host, name }))),
        )
      ).flat(),
    create,
    start: (computer, dial) => at(computer, (driver) => driver.start(computer, dial)),
    sleep: (computer) => at(computer, (driver) => driver.sleep(computer)),
    wake: (computer, dial) => at(computer, (driver) => driver.wake(computer, dial)),
    offer: (computer, dial) => at(computer, (driver) => driver.offer(computer, dial)),
    stop: (computer) => at(computer, (driver) => driver.stop(computer)),
    async delete(computer) {
      await (await having(computer))?.delete(computer);
      await hosts.setPlace(computer, null);
    },
    inspect: async (computer) => (await having(computer))?.inspect(computer) ?? null,
    list: async () => (await Promise.all((await all()).map(({ driver }) => driver.list()))).flat(),
    watch(since, watcher) {
      watchers.add(watcher);
      const stop = local.watch(since, watcher);
      for (const one of joined.values()) follow(one, watcher);
      return () => {
        watchers.delete(watcher);
        stop();
        for (const { stops } of joined.values()) {
          stops.get(watcher)?.();
          stops.delete(watcher);
        }
      };
    },
    close() {
      local.close();
      for (const { driver } of joined.values()) driver.close();
    },
  };
}
