/**
 * All computers of this machine and their shared resources: the range of addresses, the firewall. Opening it cleans up after a helper that was killed
 * and takes over computers that still run. Must not know the socket.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Log } from '../../kit/log/log.ts';
import { createGroups, type Groups } from '../../kit/sandbox/groups.ts';
import { findCode } from '../../kit/sandbox/own-code.ts';
import { createFirewall, type Firewall } from './firewall.ts';
import { createJournal } from './journal.ts';
import { createLife, type Life, screen } from './life.ts';
import { createNetwork, findRanges, type Network, passesOn } from './network.ts';
import { createProof, script as proofScript } from './proof.ts';
import type {
  Cursor,
  HostCapabilities,
  HostChange,
  HostChanges,
  HostedState,
  HostFigures,
  HostSpec,
} from './protocol.ts';
import { isWarm, type MachineRecord, openRecords } from './records.ts';
import { type HostSettings, namesFor, type WarmSettings } from './settings.ts';
import { createTool, HostError } from './tools.ts';
import { createWarm } from './warm.ts';

export interface Host {
  capabilities(): HostCapabilities;
  figures(): HostFigures;
  /** `spec` null: for a cloud of an older Gantry. */
  create(computer: string, spec: HostSpec | null): Promise<HostedState>;
  /** Throws `not_found`, and `not_isolated` where it is not proven that it reaches nothing that it may not. */
  start(computer: string): Promise<HostedState>;
  /** Throws `not_found`. */
  find(computer: string): Life;
  delete(computer: string): Promise<null>;
  list(): readonly HostedState[];
  /** How many are kept ready for the next creates and run; null: none are to be. */
  warm(): WarmSettings | null;
  onChange(listener: (change: HostChange) => void): () => void;
  changesSince(cursor: Cursor | null): HostChanges;
  /** Stops every computer; only their files remain. */
  close(): Promise<void>;
}

interface HostDeps {
  readonly settings: HostSettings;
  readonly path: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** Between two checks of the firewall. Milliseconds. */
const checksEvery = 2000;
/** After a create that got a warm computer its first calls go before making the next one, which takes a processor. Milliseconds. */
const firstCallsMs = 1000;

/** The machine can make computers: {@link whyNot} was called before. The caller holds the folder's lock. */
export async function openHost({ settings, path, clock, timers, log }: HostDeps): Promise<Host> {
  const tool = createTool(path);
  const names = namesFor(settings.folder);
  const records = openRecords(settings.folder);
  const groups = createGroups(names.group);
  if (settings.processor !== null && !groups.limits.processor) {
    const fact = 'This machine cannot limit the processor: it has no control group for it.';
    throw new HostError('not_here', `${fact} Leave --processor out.`);
  }
  const machine = await machineRecord();
  const network = createNetwork({ tool, names, ranges: machine, uplink: settings.uplink });
  const firewall = createFirewall({ tool, names, only: machine.only });
  const journal = createJournal(clock);
  const lives = new Map<string, Life>();
  const uplinks = await network.uplinks();
  if (uplinks.length === 0) {
    throw new HostError('not_here', 'This machine has no default route: name the outgoing interface with --uplink.');
  }
  const ipv6 = await network.reaches6();

  const deps = {
    settings,
    names,
    records,
    network,
    firewall,
    groups,
    code: findCode(),
    path,
    clock,
    timers,
    onState(state: HostedState) {
      if (!isWarm(state.computer)) journal.add(state);
    },
    onEnded: (computer: string, why: string) => log.warn('A computer ended.', { computer, why }),
  };

  async function machineRecord(): Promise<MachineRecord> {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const known = records.machine();
    // After a reboot nothing runs from before, and the network may be another one.
    const same = known?.boot === boot && (settings.subnet === null || settings.subnet === known.subnet4);
    if (known !== null && same) return known;
    const record = { ...(await findRanges(tool, settings.subnet)), boot, only: !passesOn() };
    records.setMachine(record);
    return record;
  }

  /** Computers that run and have a record; everything else with our names is ended. */
  async function takeOver(): Promise<void> {
    const kept = records.computers();
    const slots = new Set(kept.map(({ slot }) => slot));
    for (const slot of new Set([...slotsOf(groups), ...network.slots()])) {
      if (slots.has(slot)) continue;
      log.warn('What belongs to no computer is removed.', { slot });
      if (network.isMade(slot)) await network.disconnect(slot).catch(() => {});
      await groups.end(String(slot), settings.firstUid + slot);
      await network.remove(slot);
    }
    // Only now: no process is left that could put links into a folder being removed.
    records.removeLeftovers();
    const running = kept.filter(({ computer, slot }) => records.run(computer) !== null && network.isMade(slot));
    await network.open();
    await firewall.load(
      running.map(({ slot }) => network.guest(slot)),
      uplinks,
    );
    for (const record of kept) lives.set(record.computer, createLife(record, deps));
    await Promise.all([...lives.values()].map((life) => life.takeOver()));
  }

  /** Null: there is no room. */
  function make(computer: string, spec: HostSpec | null): Life | null {
    const used = new Set([...lives.values()].map(({ record }) => record.slot));
    const slot = Array.from({ length: settings.most }, (_, index) => index).find((index) => !used.has(index));
    if (slot === undefined) return null;
    const record = { computer, slot, ...(spec === null ? {} : { spec }) };
    if (!isWarm(computer)) records.addComputer(record);
    const life = createLife(record, deps);
    lives.set(computer, life);
    return life;
  }

  async function remove(computer: string): Promise<void> {
    await lives.get(computer)?.remove();
    lives.delete(computer);
  }

  const warm = createWarm({ wanted: settings.warm, lives, make, remove, timers, log });

  function claim(computer: string, spec: HostSpec): HostedState | null {
    for (const life of warm.fitting(spec)) {
      const before = life.record;
      const state = life.handOver({ computer, slot: before.slot, spec });
      if (state === null) continue;
      lives.delete(before.computer);
      lives.set(computer, life);
      timers.after(firstCallsMs, warm.fill);
      return state;
    }
    return null;
  }

  const isOpen = ({ record }: Life) => record.spec?.egress !== 'none';
  const proof = createProof({
    async reach(slot, targets) {
      const uid = String(settings.firstUid + slot);
      const said = await tool([
        ...(['nsenter', `--net=/run/netns/${names.namespaceOf(slot)}`, '--'] as const),
        ...['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--no-new-privs'],
        ...[process.execPath, '-e', proofScript, JSON.stringify(targets)],
      ]);
      return JSON.parse(said) as string[];
    },
    anyone: () =>
      [...lives.values()].find((life) => isOpen(life) && life.state().state === 'running')?.record.slot ?? null,
    async stopAll(why) {
      await Promise.all([...lives.values()].map((life) => life.cutOff(why)));
    },
    clock,
    timers,
    log,
  });

  function find(computer: string): Life {
    const life = lives.get(computer);
    if (life === undefined) throw new HostError('not_found', `There is no computer ${computer} here.`);
    return life;
  }

  const list = () => [...lives.values()].map((life) => life.state()).filter(({ computer }) => !isWarm(computer));

  await takeOver();
  warm.fill();
  const watch = watchFirewall({ firewall, network, lives, uplinks, timers, log });

  return {
    capabilities() {
      const ready = warm.counts();
      return {
        refused: null,
        egress: 'enforced',
        freeze: groups.freezes,
        limits: { memory: groups.limits.memory, processes: groups.limits.processes },
        ipv6,
        screen,
        most: settings.most,
        // Clouds of an older Gantry do not know it.
        ...(ready === null ? {} : { warm: ready }),
      };
    },
    figures() {
      const { memory, processes } = settings;
      return { memory, processes, provenAt: proof.provenAt(), computers: list().length };
    },
    async create(computer, spec) {
      const unsupported = spec === null ? null : whyNotSo(spec, settings, groups.limits);
      for (;;) {
        const there = lives.get(computer);
        if (there !== undefined) {
          if (spec !== null && there.record.spec?.key === spec.key) return there.state();
          throw new HostError('exists', `${computer} already exists.`);
        }
        if (unsupported !== null) throw new HostError('unsupported', unsupported);
        const state = (spec === null ? null : claim(computer, spec)) ?? make(computer, spec)?.state();
        if (state !== undefined) return state;
        // Another create may have been first in the meantime.
        if (await warm.giveUp()) continue;
        throw new HostError('full', `${settings.most} computers are kept here, which is the limit.`);
      }
    },
    find,
    async start(computer) {
      const life = find(computer);
      const state = await life.start();
      if (isOpen(life)) await proof.once(life.record.slot);
      return state;
    },
    async delete(computer) {
      if (!lives.has(computer)) return null;
      await remove(computer);
      journal.add({ computer, state: 'gone', why: null });
      warm.fill();
      return null;
    },
    list,
    warm: warm.counts,
    onChange: journal.onChange,
    changesSince: journal.since,
    async close() {
      proof.close();
      await watch.close();
      await warm.close();
      const ends = await Promise.allSettled(
        [...lives].map(([computer, life]) => (isWarm(computer) ? life.remove() : life.stop())),
      );
      for (const end of ends)
        if (end.status === 'rejected') log.error('A computer did not stop.', { fault: end.reason });
      await firewall.remove();
      await network.close();
      groups.remove();
      rmSync(join(settings.folder, 'machine.json'), { force: true });
    },
  };
}

/** A sentence; null: such a computer can be made. Never a weaker one than was asked for. */
function whyNotSo(spec: HostSpec, settings: HostSettings, holds: Groups['limits']): string | null {
  for (const limit of ['memory', 'processes'] as const) {
    const asked = spec[limit];
    if (asked === null) continue;
    const unit = limit === 'memory' ? ' MiB of memory' : ' processes';
    if (asked > settings[limit]) {
      return `A computer with ${asked}${unit} cannot be made here: the limit is ${settings[limit]} (--${limit}).`;
    }
    if (!holds[limit]) return `This machine cannot limit ${limit}: it has no control group for it.`;
  }
  return null;
}

function slotsOf(groups: Pick<Groups, 'keys'>): number[] {
  return groups
    .keys()
    .filter((key) => /^\d{1,4}$/.test(key))
    .map(Number);
}

/** Somebody may flush the machine's firewall: it is installed again, or every computer stops. */
function watchFirewall({
  firewall,
  network,
  lives,
  uplinks: first,
  timers,
  log,
}: {
  readonly firewall: Firewall;
  readonly network: Network;
  readonly lives: ReadonlyMap<string, Life>;
  readonly uplinks: readonly string[];
  readonly timers: Timers;
  readonly log: Log;
}): { close(): Promise<void> } {
  let uplinks = first;
  let checking: Promise<void> = Promise.resolve();
  let closed = false;
  let cancel = () => {};
  checkLater();

  function checkLater(): void {
    cancel = timers.after(checksEvery, () => {
      checking = check()
        .catch((fault) => log.error('The firewall could not be looked at.', { fault }))
        .then(() => {
          if (!closed) checkLater();
        });
    });
  }

  async function check(): Promise<void> {
    const live = [...lives.values()].filter((life) => life.state().state !== 'stopped');
    if (live.length === 0) return;
    const now = await network.uplinks().catch(() => uplinks);
    const moved = now.length > 0 && now.join() !== uplinks.join();
    const wrong = moved ? 'the outgoing interface changed' : await firewall.differs();
    if (wrong === null) return;
    log.error('The firewall is set up again.', { wrong });
    uplinks = now.length > 0 ? now : uplinks;
    try {
      await firewall.reload(uplinks);
    } catch (fault) {
      const why = `It was stopped because it was no longer isolated: ${(fault as Error).message}`;
      await Promise.all(live.map((life) => life.cutOff(why)));
    }
  }

  return {
    async close() {
      closed = true;
      cancel();
      await checking;
    },
  };
}
