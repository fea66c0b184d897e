/**
 * Computers that run before anybody asks for them, so that a create only has to hand one over. They are in no list, have no record, and give way where
 * there is no room. Must not know the socket.
 */
import { randomBytes } from 'node:crypto';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Life } from './life.ts';
import type { HostSpec } from './protocol.ts';
import { isWarm } from './records.ts';
import { type Toolset, toolsets, type WarmSettings } from './settings.ts';

interface Warm {
  /** Those that run and are exactly what was asked for. */
  fitting(spec: HostSpec): readonly Life[];
  /** Null if none are to be kept. */
  counts(): WarmSettings | null;
  /** Removes one to make room; false if there is none to remove. */
  giveUp(): Promise<boolean>;
  /** In the background: removes those that ended, and makes those that are missing. */
  fill(): void;
  /** Resolves when no more are made. Those that are there stay. */
  close(): Promise<void>;
}

/** Between two looks whether one ended or could be made by now. Milliseconds. */
const againMs = 15_000;

export function createWarm(deps: {
  readonly wanted: WarmSettings;
  readonly lives: ReadonlyMap<string, Life>;
  /** Null: there is no room. */
  readonly make: (computer: string, spec: HostSpec) => Life | null;
  readonly remove: (computer: string) => Promise<void>;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Warm {
  const { wanted, lives, timers, log } = deps;
  let closed = false;
  let cancel = () => {};
  let filling: Promise<void> = Promise.resolve();

  const wantsAny = toolsets.some((toolset) => wanted[toolset] > 0);
  const all = () => [...lives.values()].filter(({ record }) => isWarm(record.computer));
  const of = (toolset: Toolset) => all().filter(({ record }) => record.spec?.toolset === toolset);
  const running = (toolset: Toolset) => of(toolset).filter((life) => life.state().state === 'running');

  /** False: there is no room. */
  async function makeOne(toolset: Toolset): Promise<boolean> {
    const computer = `warm_${randomBytes(8).toString('hex')}`;
    const spec = { key: computer, memory: null, processes: null, toolset, egress: 'public', lifetime: null } as const;
    const life = deps.make(computer, spec);
    if (life === null) return false;
    try {
      await life.start();
      return true;
    } catch (fault) {
      await deps.remove(computer);
      throw fault;
    }
  }

  async function fillAll(): Promise<void> {
    for (const { record, state } of all()) if (state().state === 'stopped') await deps.remove(record.computer);
    for (const toolset of toolsets) {
      while (!closed && of(toolset).length < wanted[toolset]) if (!(await makeOne(toolset))) return;
    }
  }

  function fill(): void {
    if (!wantsAny || closed) return;
    filling = filling
      .then(fillAll)
      .catch((fault: Error) => log.warn('A computer could not be made in advance.', { fault: fault.message }))
      .finally(() => {
        cancel();
        if (!closed) cancel = timers.after(againMs, fill);
      });
  }

  return {
    fill,
    fitting({ toolset, egress, memory, processes, lifetime }) {
      const usual = egress === 'public' && memory === null && processes === null && lifetime === null;
      return usual ? running(toolset) : [];
    },
    counts() {
      return wantsAny ? { desktop: running('desktop').length, shell: running('shell').length } : null;
    },
    async giveUp() {
      const one = all().at(-1);
      if (one !== undefined) await deps.remove(one.record.computer);
      return one !== undefined;
    },
    async close() {
      closed = true;
      cancel();
      await filling;
    },
  };
}
