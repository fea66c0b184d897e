/** Where hosted computers are made, as an administrator and as a person with hosted computers may read it. Must not know who asks. */
import type { Pool } from '../../contracts/hosted-computers/admin.ts';
import type { ComputerPool } from '../../contracts/hosted-computers/computer.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { ComputerBounds } from './bounds.ts';
import type { HostedDriver } from './driver.ts';
import type { HostedSettings } from './settings.ts';
import type { ComputerStore } from './store.ts';

export function createPool({
  settings,
  computers,
  driver,
  bounds,
}: {
  readonly settings: Pick<HostedSettings, 'pool'>;
  readonly computers: Pick<ComputerStore, 'countAwake'>;
  readonly driver: Pick<HostedDriver, 'name' | 'capabilities' | 'hosts'>;
  readonly bounds: ComputerBounds;
}) {
  const known = () => Promise.all([settings.pool(), computers.countAwake(), driver.capabilities()]);

  /** The beginnings of names that this person may name; null: any. */
  function imagesFor(userId: string): string[] | null {
    if (bounds.images === null) return null;
    const theirs = bounds.images.filter((rule) => rule.userId === null || rule.userId === userId);
    return theirs.map(({ beginning }) => beginning);
  }

  return {
    async ofEverybody(): Promise<Pool> {
      const [set, awake, { refused, wall, sleep, egress, warm }] = await known();
      return { ...set, awake, driver: { name: driver.name, refused, wall, sleepKeeps: sleep, egress, warm } };
    },
    async seenBy(userId: string): Promise<ComputerPool> {
      const [[{ running, idleSeconds }, awake, can], machines] = await Promise.all([known(), driver.hosts()]);
      return {
        driver: driver.name,
        refused: withoutIds(can.refused),
        wall: can.wall,
        egress: can.egress,
        sleep_keeps: can.sleep,
        idle_seconds: idleSeconds,
        running,
        awake,
        warm: can.warm,
        images: can.images ? imagesFor(userId) : [],
        lifetime_seconds: bounds.lifetime === null ? null : bounds.lifetime / 1000,
        hosts: machines.map(({ name, refused, limits, provenAt, computers, most }) => ({
          name,
          refused: withoutIds(refused),
          memory_mib: limits.memory,
          processes: limits.processes,
          egress_proven_at: provenAt === null ? null : iso(provenAt),
          computers,
          most,
        })),
      };
    },
  };
}

/** A driver's reason may name a computer, which may be another person's. */
const withoutIds = (reason: string | null): string | null =>
  reason?.replace(/\b(?:cmp|warm)_[0-9A-Za-z]+/g, 'a computer') ?? null;
