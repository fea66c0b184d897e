/**
 * Composes computer use on a person's own computer: questions become approvals, the workspace's policy decides about actions, and browsers may not
 * reach Gantry's own listeners. Must not know what a call does.
 */
import { join } from 'node:path';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { programCommand } from '../kit/process/programs.ts';
import type { Store } from '../kit/store/store.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import { createApprovalQuestions, createHands, type Hands } from '../runtime-server/computer-use/index.ts';
import { isLiving } from '../runtime-server/computer-use/runs/index.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import type { Closing } from './closing.ts';

export function createRuntimeHands(deps: {
  readonly store: Store;
  readonly policy: Policy;
  readonly approvals: Approvals;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly masterKey: string;
  /** Where the tool `file.read` begins for the person: absolute. */
  readonly workspace: string;
  /** `GANTRY_HOME`. */
  readonly home: string;
  /** Where the person's browser finds Gantry. */
  readonly webOrigin: () => string;
  /** Ports of all of Gantry's listeners on this computer. */
  readonly ownPorts: () => readonly number[];
  readonly closing: Closing;
}): Hands {
  const hands = createHands({
    ...deps,
    questions: createApprovalQuestions(deps.approvals),
    timers: systemTimers,
    command: programCommand('executor'),
    folder: join(deps.home, 'computer-use'),
    secret: deps.masterKey,
    uploads: { roots: [deps.workspace], hidden: [deps.home] },
    defaults: 'own',
    approver: 'owner',
    livingRun: (id) => deps.store.read((tx) => isLiving(tx, id)),
    approveUrl: () => `${deps.webOrigin()}/inbox`,
  });
  deps.closing.add('hands', () => hands.close());
  return hands;
}
