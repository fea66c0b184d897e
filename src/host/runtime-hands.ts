/**
 * Composes computer use on a person's own computer: questions become approvals, the workspace's policy decides about actions, and browsers may not
 * reach Gantry's own listeners. Must not know what a call does.
 */
import { join } from 'node:path';
import { programCommand } from '../kit/process/programs.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import { createApprovalQuestions, createHands, type Hands } from '../runtime-server/computer-use/index.ts';
import { isLiving } from '../runtime-server/computer-use/runs/index.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import type { RuntimeCore } from './runtime-core.ts';

export function createRuntimeHands(
  deps: RuntimeCore & {
    readonly policy: Policy;
    readonly approvals: Approvals;
    /** Where the person's browser finds Gantry. */
    readonly webOrigin: () => string;
    /** Ports of all of Gantry's listeners on this computer. */
    readonly ownPorts: () => readonly number[];
  },
): Hands {
  const hands = createHands({
    ...deps,
    questions: createApprovalQuestions(deps.approvals),
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
