/**
 * The routes of this computer's executor. The caller determines who holds control: a person who has taken it, a run, otherwise
 * the client. Must not know stages.
 */

import { hash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import {
  callToolset,
  readToolsetSchema,
  releaseControl,
  renewControl,
  takeControl,
  viewComputer,
} from '../../contracts/computer-use/device-routes.ts';
import { type AnyToolset, membersOf } from '../../contracts/computer-use/members.ts';
import type { ToolsetCall } from '../../contracts/computer-use/toolset.ts';
import { clientOf, isOwnerInPerson, surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import { invalidCall } from './answers.ts';
import type { Holder, ToolsetCaller, ToolsetGate } from './gate.ts';
import { defaultSession, noToolset } from './read-call.ts';
import type { View } from './view.ts';

/** The id by which a computer is asked about itself. */
const thisDevice = 'this-device';

export function deviceRoutesOf({
  gate,
  view,
  toolsets,
  oneBrowser,
  livingRun,
}: {
  readonly gate: Pick<ToolsetGate, 'call' | 'control'>;
  readonly view: Pick<View, 'watch'>;
  /** What this computer has. */
  readonly toolsets: readonly AnyToolset[];
  /** Everybody has the same browser, which the display shows: in a computer that has one caller. */
  readonly oneBrowser: boolean;
  readonly livingRun: (runId: string) => Promise<boolean>;
}): BoundRoute[] {
  const { control } = gate;
  return [
    bind(callToolset, async ({ principal, params, body, signal }) => {
      own(params.id);
      if (body.run_id !== undefined && (await livingRun(body.run_id))) throw runActsItself(body.run_id);
      const call = { ...body, browser_session_id: body.browser_session_id ?? sessionOf(principal, oneBrowser) };
      const outcome = await gate.call(call, callerOf(principal, call, control.now().holder), signal);
      switch (outcome.kind) {
        case 'done':
          return { body: outcome.result };
        case 'denied':
          throw new AppError('refused', outcome.message, 'Change .gantry/policy.yaml to allow it.', {
            wireCode: 'policy_denied',
            extra: { rule: outcome.rule },
          });
        case 'approval_required': {
          const { approval, words, result } = outcome;
          const fact = 'A person must approve this call first.';
          throw new AppError('refused', fact, `Send it again with approval_grant ${approval.id} once they have.`, {
            status: 409,
            wireCode: 'approval_required',
            extra: { approval, words, result },
          });
        }
      }
    }),
    bind(readToolsetSchema, ({ params, query }) => {
      own(params.id);
      if (!toolsets.includes(query.toolset)) throw invalidCall(noToolset(query.toolset, toolsets));
      return { body: { toolset: query.toolset, members: schemaOf(query.toolset) } };
    }),
    bind(takeControl, ({ principal, params }) => ({ body: control.take(personOf(principal, params.id)) })),
    bind(releaseControl, ({ principal, params }) => ({ body: control.release(personOf(principal, params.id)) })),
    bind(renewControl, ({ principal, params }) => ({ body: control.renew(personOf(principal, params.id)) })),
    bind(viewComputer, ({ params, query }, sink) => {
      own(params.id);
      sink.open();
      let ready = true;
      const leave = view.watch(query.browser_session_id ?? null, ({ event, data }) => {
        // A slow reader gets the newest frame once it can read again, and never a queue of old ones.
        if (event === 'frame' && !ready) return;
        if (sink.send({ event, data })) return;
        ready = false;
        void sink.drained().then(() => {
          ready = true;
        });
      });
      sink.signal.addEventListener('abort', leave, { once: true });
      if (sink.signal.aborted) leave();
    }),
  ];
}

/** On the computer itself there is no other. */
function own(id: string): void {
  if (id === thisDevice) return;
  throw new AppError('not_found', `There is no computer ${JSON.stringify(id)} here.`, `Ask for ${thisDevice}.`, {
    wireCode: 'computer_not_found',
  });
}

/** Another caller in its name would use its answers, and end its turns. */
function runActsItself(runId: string): AppError {
  return invalidCall(`${JSON.stringify(runId)} is a run in progress on this computer; use another run_id.`);
}

function personOf(principal: Principal, id: string): Holder {
  own(id);
  // A key is held by a program: it cannot take over from a run as a person does.
  if (isOwnerInPerson(principal)) return { kind: 'person', id: principal.userId };
  throw new AppError('refused', 'Only a person can take control.', 'Use the live view or the command line.');
}

function callerOf(principal: Principal, call: ToolsetCall, holds: Holder | null): ToolsetCaller {
  const inPerson =
    call.run_id === undefined &&
    isOwnerInPerson(principal) &&
    holds?.kind === 'person' &&
    holds.id === principal.userId;
  const holder: Holder = inPerson
    ? { kind: 'person', id: principal.userId }
    : call.run_id === undefined
      ? { kind: 'key', id: clientOf(principal) }
      : { kind: 'run', id: call.run_id };
  return {
    userId: principal.userId,
    surface: surfaceOf(principal),
    holder,
    startedByPerson: inPerson,
    byModel: false,
  };
}

/** Each client has its own browser; a person has the same one on every device. */
function sessionOf(principal: Principal, oneBrowser: boolean): string {
  return oneBrowser || isOwnerInPerson(principal)
    ? defaultSession
    : `${defaultSession}-${hash('sha256', clientOf(principal), 'hex').slice(0, 16)}`;
}

function schemaOf(toolset: AnyToolset) {
  return Object.entries(membersOf[toolset]).map(([name, member]) => ({
    name,
    description: member.about,
    class: member.class,
    enabled: member.offByDefault !== true,
    input_schema: z.toJSONSchema(member.input, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>,
  }));
}
