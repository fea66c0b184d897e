/**
 * The computers of every person: which one a call means, their names, and the end of a pairing. Owns what ends together when a computer is revoked.
 * Must not know how a link works or what signs a person in.
 */
import { byName } from '../../contracts/common/by-name.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Computer } from '../../contracts/link/computers.ts';
import * as contract from '../../contracts/link/computers.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import { type BoundRoute, bind, type OwnerLookups } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import { createRowCache } from '../../kit/store/row-cache.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { follow } from '../../kit/wake/follow.ts';
import {
  type ComputerRow,
  computersOf,
  describeComputer,
  endingsSince,
  findComputer,
  makeDefault,
  noteClock,
  noteSeen,
  putComputer,
  readComputer,
  renameComputer,
  revokeComputerRow,
} from './computers-store.ts';
import type { Devices } from './devices.ts';
import type { Link } from './link.ts';

/** Which computer a call means: used by the factory proxy and the way to peers. */
export interface ComputerLookup {
  /** By its own id or the cloud's; null: the default one. Returns its own id, or null if this person has no such computer. */
  resolve(userId: string, named: string | null): Promise<string | null> | string | null;
}

/** The credential that signs the person at a computer in here; it ends with the pairing. */
export interface HomeCredentials {
  begin(computer: { readonly userId: string; readonly computerId: string; readonly name: string }): Promise<string>;
  /** Ends it and every stream that it holds open. */
  end(computerId: string): Promise<void>;
}

export interface ComputersDeps {
  readonly store: SharedStore;
  readonly devices: Devices;
  readonly link: Pick<Link, 'state' | 'onChange'>;
  /** Cuts the link of a computer, if it has one here, except a link dialled under the named pairing. */
  readonly endLink: (computerId: string, reason: string, except?: number) => void;
  readonly home: HomeCredentials;
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly ids: Ids;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

interface Admitted {
  readonly id: string;
  readonly userId: string;
  readonly name: string;
  readonly version: string;
  /** The key that it signs with from now on. */
  readonly token: string;
}

export interface Computers extends ComputerLookup {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** The default first, then by name. */
  list(userId: string): Promise<contract.Computer[]>;
  /** Its person; null: nobody, or it is revoked. */
  ownerOf(computerId: string): Promise<string | null>;
  /** Pairs it; if it was paired, its earlier pairing ends. Returns the cloud's id for it, and what it is called from now on. */
  admit(computer: Admitted): Promise<{ readonly cloudId: string; readonly name: string }>;
  /** The computer of the same process, registered at each start. */
  know(computer: Admitted): Promise<void>;
  /** `aheadMs`: how far its clock is ahead of this one's; null if it did not say. */
  describe(computerId: string, version: string, aheadMs: number | null): Promise<void>;
  /** Ends its keys, its home credential, its link and everything that runs over it. False: it was not paired. */
  revoke(computerId: string, reason: string): Promise<boolean>;
  close(): void;
}

/** Readings differ by up to this much even if nobody sets a clock. */
const sameClockMs = 2_000;
const endedTopic = 'computers';
/** With other replicas: how long until another default computer counts here. The link and the keys of a revoked one end independently. */
const retentionMs = 1000;
const over = 'Its pairing was ended.';
const again = 'It was paired again.';

export function createComputers(deps: ComputersDeps): Computers {
  const { store, devices, link, clock, ids, log } = deps;
  const read = (id: string) => store.read((tx) => readComputer(tx, id));
  /** Cache for each person, the default first: every call to a computer reads it. */
  const known = createRowCache<readonly ComputerRow[]>(
    async (userId) => {
      const rows = await store.read((tx) => computersOf(tx, userId));
      return rows.length === 0 ? null : rows;
    },
    { age: store.engine === 'sqlite' ? null : { clock, maxAgeMs: retentionMs } },
  );

  const stopNoting = link.onChange((id) => {
    noteSeen(store, id, clock.now()).catch((fault: unknown) =>
      log.warn('When a computer was last linked could not be noted.', { computer: id, fault: String(fault) }),
    );
  });

  /** Pairings that another replica ended or replaced: their links and streams here end, too. */
  const stopFollowing =
    store.engine === 'sqlite'
      ? () => {}
      : follow({
          wake: store.wake,
          clock,
          timers: deps.timers ?? systemTimers,
          topic: endedTopic,
          since: (at) => endingsSince(store, at),
          tell: ({ computerId, pairing }) =>
            pairing === null ? deps.endLink(computerId, over) : deps.endLink(computerId, again, pairing),
          onFault: (fault) =>
            log.warn('Pairings that ended elsewhere could not be looked for.', { fault: String(fault) }),
        });

  async function shown(row: ComputerRow, isDefault: boolean): Promise<Computer> {
    const { linked, since } = await link.state(row.id);
    return {
      id: row.id,
      cloudId: row.cloudId,
      name: row.name,
      state: linked ? 'linked' : 'away',
      // A link's times begin with its own program.
      since: iso(since > 0 ? since : (row.seenAt ?? row.pairedAt)),
      default: isDefault,
      pairedAt: iso(row.pairedAt),
      version: row.version,
      embedded: row.embedded === 1,
      ...(row.clockAheadMs === null ? {} : { clockAheadMs: row.clockAheadMs }),
    };
  }

  async function mine(userId: string, id: string): Promise<ComputerRow> {
    const row = await store.read((tx) => findComputer(tx, userId, id));
    if (row === null) throw unknown(id);
    return row;
  }

  async function end(id: string, reason: string): Promise<void> {
    await deps.home.end(id);
    deps.endLink(id, reason);
  }

  async function revoke(id: string, reason: string): Promise<boolean> {
    // The keys first, as when it is paired again.
    const ended = await store.write(function* (tx) {
      tx.afterCommit(() => store.wake.signal(endedTopic));
      return yield* revokeComputerRow(tx, id, clock.now());
    });
    const row = await read(id);
    if (row !== null) known.forget(row.userId);
    await end(id, reason);
    return ended;
  }

  async function put(computer: Admitted, embedded: boolean): Promise<ComputerRow> {
    const { id, userId, version, token } = computer;
    const sealedToken = devices.seal(id, token);
    const row = await store.write(function* (tx) {
      yield* putComputer(tx, {
        id,
        userId,
        name: nameOf(computer, yield* computersOf(tx, userId)),
        version,
        embedded,
        cloudId: ids.next('cc'),
        at: clock.now(),
        sealedToken,
      });
      tx.afterCommit(() => store.wake.signal(endedTopic));
      return (yield* readComputer(tx, id))!;
    });
    known.forget(userId);
    return row;
  }

  async function list(userId: string): Promise<contract.Computer[]> {
    const rows = await store.read((tx) => computersOf(tx, userId));
    const [first] = rows;
    const computers = await Promise.all(rows.map((row) => shown(row, row === first)));
    return computers.sort((a, b) => Number(b.default) - Number(a.default) || byName(a.name, b.name));
  }

  return {
    revoke,
    list,
    resolve(userId, named) {
      const found = meant(known.peek(userId) ?? [], named);
      // A computer that is not cached may have been paired at another replica just now.
      return found ?? known.load(userId).then((rows) => meant(rows ?? [], named));
    },
    async ownerOf(id) {
      const row = await read(id);
      return row === null || row.revokedAt !== null ? null : row.userId;
    },
    async admit(computer) {
      const before = await read(computer.id);
      const { cloudId, name } = await put(computer, false);
      if (before !== null) known.forget(before.userId);
      // Only after its keys are gone: a cut link would dial in again at once.
      if (before !== null) await end(computer.id, again);
      return { cloudId, name };
    },
    async know(computer) {
      const row = await read(computer.id);
      if (row === null || row.revokedAt !== null || row.embedded === 0 || row.userId !== computer.userId) {
        await put(computer, true);
        return;
      }
      // Once stored, the name is the person's; the token may have changed since the last start.
      const { name = '' } = row;
      await store.write(function* (tx) {
        yield* describeComputer(tx, row.id, { name: name === '' ? computer.name : name, version: computer.version });
        yield* devices.replace(tx, row.id, computer.token);
      });
    },
    async describe(id, version, aheadMs) {
      const row = await read(id);
      if (row === null) return;
      const moved = aheadMs !== null && Math.abs(aheadMs - (row.clockAheadMs ?? Infinity)) > sameClockMs;
      if (row.version === version && !moved) return;
      await store.write(function* (tx) {
        yield* describeComputer(tx, id, { name: row.name, version });
        if (moved) yield* noteClock(tx, id, aheadMs);
      });
      known.forget(row.userId);
    },
    owners: {
      computer: async ({ userId }, id) => (await store.read((tx) => findComputer(tx, userId, id))) !== null,
    },
    routes: [
      bind(contract.listComputers, async ({ principal }) => ({ body: { computers: await list(principal.userId) } })),
      bind(contract.updateComputer, async ({ principal: { userId }, params, body }) => {
        const { id } = await mine(userId, params.id);
        const rows = await store.write(function* (tx) {
          if (body.name !== undefined) yield* renameComputer(tx, id, body.name);
          if (body.default === true) yield* makeDefault(tx, userId, id);
          return yield* computersOf(tx, userId);
        });
        known.forget(userId);
        const row = rows.find((each) => each.id === id);
        if (row === undefined) throw unknown(params.id);
        return { body: await shown(row, row === rows[0]) };
      }),
      bind(contract.revokeComputer, async ({ principal, params }) => {
        const row = await mine(principal.userId, params.id);
        if (row.embedded === 1) {
          throw new AppError(
            'refused',
            `${row.name} is the computer that this server runs on.`,
            'Stop Gantry instead: it was never paired.',
            { status: 409, wireCode: 'not_paired' },
          );
        }
        await revoke(row.id, over);
        return { body: undefined };
      }),
    ],
    close() {
      stopNoting();
      stopFollowing();
    },
  };
}

/**
 * A paired computer keeps the name that its person may have given it. A new one whose host name another one has already gets a number:
 * fresh virtual machines are all called alike, and every page tells computers apart by their names.
 */
function nameOf({ id, name }: Admitted, paired: readonly ComputerRow[]): string {
  const before = paired.find((row) => row.id === id)?.name ?? '';
  if (before !== '') return before;
  const taken = new Set(paired.map((row) => row.name.toLowerCase()));
  let free = name;
  for (let number = 2; taken.has(free.toLowerCase()); number += 1) free = `${name} ${number}`;
  return free;
}

/** By its own id or the cloud's. */
function meant(rows: readonly ComputerRow[], named: string | null): string | null {
  if (named === null) return rows[0]?.id ?? null;
  return rows.find(({ id, cloudId }) => id === named || cloudId === named)?.id ?? null;
}

function unknown(id: string): AppError {
  return new AppError('not_found', `There is no computer ${JSON.stringify(id)}.`, 'List them: GET /api/v1/computers', {
    wireCode: 'computer_not_found',
  });
}
