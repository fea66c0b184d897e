/**
 * Computer-use runs and their sessions: rows with events numbered without gaps. Runs act through the gate and are planned by a
 * planner. Must not know how something is clicked, or which model answers.
 */

import { join } from 'node:path';
import { createBlobs } from '../../../kit/blobs/blobs.ts';
import type { BoundRoute, OwnerLookups } from '../../../kit/http/types.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Store } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { Models } from '../../models/index.ts';
import type { ToolsetGate } from '../gate.ts';
import { createArtifacts } from './artifacts.ts';
import { createJournal } from './journal.ts';
import type { Planner } from './planner-port.ts';
import { createReading } from './reading.ts';
import { forgetOld } from './retention.ts';
import { runOwnersOf, runRoutesOf } from './routes.ts';
import { createRuns } from './runs.ts';
import { createSessions } from './sessions.ts';

export { runMigrations } from './migrations.ts';
export type { Planner } from './planner-port.ts';
export { isLiving } from './records.ts';

export interface ComputerUse {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** Before the first request: what an earlier program left alive is interrupted. */
  start(): Promise<void>;
  /** Removes expired rows; call it once a day. Milliseconds since the epoch. */
  forgetOld(now: number): Promise<void>;
  /** Interrupts what lives, before the gate closes. */
  close(): Promise<void>;
}

export function createComputerUse(
  deps: Pick<Base, 'clock' | 'timers' | 'ids'> & {
    /** With {@link runMigrations} applied. */
    readonly store: Store;
    readonly gate: ToolsetGate;
    readonly planner: Planner;
    /** `record` of the models. */
    readonly spent: Models['record'];
    readonly log: Pick<Log, 'warn'>;
    /** Absolute; artifacts lie in `artifacts`, recordings under way in `recordings`. */
    readonly folder: string;
  },
): ComputerUse {
  const { store, clock, log, folder } = deps;
  const onFault = (what: string, fault: unknown) => log.warn(what, { fault: String(fault) });
  const journal = createJournal({ store, clock });
  const blobs = createBlobs(join(folder, 'artifacts'));
  const artifacts = createArtifacts({ journal, blobs, ids: deps.ids });
  const runs = createRuns({ ...deps, journal, artifacts, onFault, folder: join(folder, 'recordings') });
  const sessions = createSessions(deps);
  const reading = createReading({ store, journal });
  return {
    routes: runRoutesOf({ store, runs, reading, sessions, artifacts }),
    owners: runOwnersOf(store),
    start: () => runs.start(),
    forgetOld: (now) => forgetOld({ ...deps, artifacts }, now),
    close: () => runs.close(),
  };
}
