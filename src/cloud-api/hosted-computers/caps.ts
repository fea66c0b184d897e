/** A project's limits: its spend cap of the month, and how many computers and calls at once. Must not know calls or phases. */
import type { Op, SharedReader } from '../../kit/store/shared-store.ts';
import { microPerCent, spentOf } from './meters.ts';
import { spendCapReached } from './model.ts';
import type { Project } from './projects.ts';
import type { HostedSettings } from './settings.ts';
import type { Room } from './store.ts';

export interface Caps {
  readonly room: Room;
  /** Throws 402 `spend_cap_reached`. */
  checkSpend(tx: SharedReader): Op<void>;
}

export type CapsOf = (project: Project) => Promise<Caps>;

/** Null while something is left, or without a cap; otherwise the amount spent. Cents. */
export function* capReached(tx: SharedReader, project: Project, now: number): Op<number | null> {
  if (project.spendCapCents === null) return null;
  const spent = (yield* spentOf(tx, project.id, now)) / microPerCent;
  return spent >= project.spendCapCents ? spent : null;
}

export function createCaps(settings: Pick<HostedSettings, 'of' | 'pool'>, now: () => number): CapsOf {
  return async (project) => {
    const [{ per_key_concurrency: ofKey }, { running }] = await Promise.all([settings.of(project.id), settings.pool()]);
    return {
      room: { running, ofKey },
      *checkSpend(tx) {
        if ((yield* capReached(tx, project, now())) !== null) throw spendCapReached(project.spendCapCents ?? 0);
      },
    };
  };
}
