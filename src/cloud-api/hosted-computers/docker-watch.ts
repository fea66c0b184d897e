/**
 * Changes of an engine's containers, as the driver docker tells them. The engine keeps its last events only in memory: a watch continues after a cursor
 * if the event that it names is still among them, and says that it missed some otherwise. Must not know how a computer is made.
 */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { GetEventsOptions } from 'dockerode';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Engine } from '../../kit/docker/engine.ts';
import { labels } from './docker-spec.ts';
import { isWarm } from './docker-warm.ts';
import type { DriverChange, DriverWatcher, HostedDriver } from './driver.ts';

/** How long after a cut a watch connects again, ms; twice as long after each try, where no engine may ever run. */
const reconnectMs = { first: 1_000, longest: 60_000 };

/** What each event says. `update` is how a start says that the computer can be called: it changes nothing. */
const stateAfter = {
  start: 'starting',
  update: 'running',
  pause: 'sleeping',
  unpause: 'running',
  die: 'stopped',
  destroy: 'gone',
} as const;

interface EngineEvent {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

export function createDockerWatch({
  engine,
  installation,
  computerIn,
  whyOf,
  clock,
  timers,
}: {
  readonly engine: () => Promise<Engine>;
  readonly installation: () => string;
  /** By the name of its container; null: it is not one of ours. */
  readonly computerIn: (name: string) => string | null;
  readonly whyOf: (exitCode: number, labels: Readonly<Record<string, string>>) => string | null;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
}): HostedDriver['watch'] {
  async function events(range: { readonly since?: string; readonly until?: string } = {}): Promise<Readable> {
    const { follows } = await engine();
    const label = [`${labels.cloud}=${installation()}`, labels.computer];
    const asked = { ...range, filters: { type: ['container'], event: Object.keys(stateAfter), label } };
    // The library's types want times as numbers, which do not have so many digits.
    return (await follows.getEvents(asked as unknown as GetEventsOptions)) as Readable;
  }

  function changeOf(line: string): DriverChange | null {
    const { Action, Actor } = JSON.parse(line) as EngineEvent;
    // As text: a number of JavaScript does not have so many digits.
    const nanoseconds = /"timeNano":(\d+)/.exec(line)?.[1];
    const state = stateAfter[Action as keyof typeof stateAfter];
    const computer = computerIn(Actor.Attributes.name ?? '');
    if (nanoseconds === undefined || state === undefined || computer === null || isWarm(computer)) return null;
    return {
      computer,
      state,
      why: state === 'stopped' ? whyOf(Number(Actor.Attributes.exitCode), Actor.Attributes) : null,
      at: Number(nanoseconds.slice(0, -6)),
      cursor: `${nanoseconds}.${Actor.ID.slice(0, 12)}.${Action}`,
    };
  }

  /** Those that the engine still has, from the cursor's own on; null: it no longer has that. */
  async function after(cursor: string): Promise<readonly DriverChange[] | null> {
    const [, seconds, rest] = /^(\d{1,12})(\d{9})\.\w+\.\w+$/.exec(cursor) ?? [];
    if (seconds === undefined) return null;
    const until = (clock.now() / 1000).toFixed(3);
    const past = await events({ since: `${seconds}.${rest}`, until });
    const changes: DriverChange[] = [];
    for await (const line of createInterface({ input: past })) {
      const change = changeOf(line);
      if (change !== null) changes.push(change);
    }
    const at = changes.findIndex((change) => change.cursor === cursor);
    return at < 0 ? null : changes.slice(at + 1);
  }

  return (since, watcher: DriverWatcher) => {
    let last = since;
    let joined = since !== null;
    let stopped = false;
    let waitMs = reconnectMs.first;
    let stream: Readable | null = null;
    let cancel = () => {};

    function tell(change: DriverChange): void {
      last = change.cursor;
      watcher.changed(change);
    }

    async function follow(): Promise<void> {
      const live = await events();
      if (stopped) return void live.destroy();
      stream = live;
      waitMs = reconnectMs.first;
      // What comes meanwhile waits in the stream.
      const told = new Set<string>();
      if (joined) {
        const changes = last === null ? null : await after(last);
        if (stopped) return void live.destroy();
        if (changes === null) {
          last = null;
          watcher.missed();
        }
        for (const change of changes ?? []) {
          told.add(change.cursor);
          tell(change);
        }
      }
      joined = true;
      for await (const line of createInterface({ input: live })) {
        if (stopped) return;
        const change = changeOf(line);
        if (change !== null && !told.has(change.cursor)) tell(change);
      }
    }

    function connect(): void {
      follow()
        .catch(() => {})
        .finally(() => {
          stream?.destroy();
          stream = null;
          if (stopped) return;
          cancel = timers.after(waitMs, connect);
          waitMs = Math.min(waitMs * 2, reconnectMs.longest);
        });
    }
    connect();

    return () => {
      stopped = true;
      cancel();
      stream?.destroy();
    };
  };
}
