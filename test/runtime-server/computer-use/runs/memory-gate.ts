/**
 * A gate of tests: it acts on nothing, remembers every call, keeps one lease and asks where it is told to. Real ones are tested on their
 * own; here runs are.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Control, ToolsetCall, ToolsetResult } from '../../../../src/contracts/computer-use/toolset.ts';
import type {
  ApprovalState,
  Holder,
  ToolsetCaller,
  ToolsetGate,
  ToolsetOutcome,
} from '../../../../src/runtime-server/computer-use/gate.ts';

export interface MemoryGate extends ToolsetGate {
  readonly calls: { readonly call: ToolsetCall; readonly caller: ToolsetCaller }[];
  readonly opened: string[];
  readonly closed: { readonly session: string; readonly wipe: boolean }[];
  /** Calls that act, without the pictures after them. */
  acted(): string[];
  /** What a call comes to, by default: done. May wait. */
  answer: (call: ToolsetCall, signal: AbortSignal) => Promise<ToolsetOutcome | null> | ToolsetOutcome | null;
  /** Members that ask. */
  readonly asks: Set<string>;
  resolve(id: string, state: 'approved' | 'denied' | 'expired'): void;
  takeAs(holder: Holder): void;
  releaseAs(holder: Holder): void;
  elsewhere(): void;
  download(session: string, path: string, size: number): void;
  stops: number;
  videos: { file: string; make: (file: string) => void } | null;
}

const screen = { width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 };
export const done = (text = '', image?: string): ToolsetOutcome => ({
  kind: 'done',
  auditId: 'aud_1',
  executed: true,
  result: resultOf(text, image),
});
export function resultOf(text = '', image?: string): ToolsetResult {
  return {
    is_error: false,
    screen,
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...(image === undefined
        ? []
        : [
            {
              type: 'image' as const,
              media_type: 'image/png' as const,
              data: Buffer.from(image).toString('base64'),
              width: 10,
              height: 10,
            },
          ]),
    ],
  };
}
export const failedCall = (code: string): ToolsetOutcome => ({
  kind: 'done',
  auditId: 'aud_2',
  executed: true,
  result: { is_error: true, screen, content: [], error: { code, message: `It is ${code}.` } },
});

/** Until something stops it, as a long action. */
export async function untilStopped(gate: { stops: number }): Promise<ToolsetOutcome> {
  const before = gate.stops;
  while (gate.stops === before) await delay(5);
  return failedCall('cancelled');
}

export function createMemoryGate(): MemoryGate {
  const approvals = new Map<string, ApprovalState>();
  const onApproval = new Set<Parameters<ToolsetGate['onApproval']>[0]>();
  const onControl = new Set<Parameters<ToolsetGate['onControl']>[0]>();
  const onDownload = new Set<Parameters<ToolsetGate['onDownload']>[0]>();
  let holder: Holder | null = null;
  let pictures = 0;
  let lastActed = '';
  const control = (): Control => ({ holder, since: null, expires_at: null });
  const tell = (why: 'taken' | 'released' | 'elsewhere') => {
    for (const listener of onControl) listener({ control: control(), why });
  };
  const same = (one: Holder | null, other: Holder) => one?.kind === other.kind && one.id === other.id;
  const take = (wanted: Holder): Control => {
    if (holder !== null && !same(holder, wanted) && wanted.kind !== 'person') {
      throw new AppError('refused', 'Somebody has control.', 'Wait.', { wireCode: 'take_control_first' });
    }
    if (same(holder, wanted)) return control();
    holder = wanted;
    tell('taken');
    return control();
  };
  const drop = (wanted: Holder): Control => {
    if (!same(holder, wanted)) return control();
    holder = null;
    tell('released');
    return control();
  };

  const gate: MemoryGate = {
    calls: [],
    opened: [],
    closed: [],
    asks: new Set(),
    answer: () => null,
    stops: 0,
    videos: null,
    acted: () => gate.calls.filter(({ call }) => call.turn_id !== undefined).map(({ call }) => call.member),
    async call(call, caller, signal) {
      if (!same(holder, caller.holder)) take(caller.holder);
      if (gate.asks.has(call.member) && call.approval_grant === undefined) {
        const id = `apr_${approvals.size + 1}`;
        approvals.set(id, 'pending');
        return {
          kind: 'approval_required',
          words: `May it ${call.member}?`,
          result: resultOf(),
          approval: {
            id,
            action_hash: 'hash',
            member: call.member,
            toolset: call.toolset,
            risk: 'medium',
            confirmation_class: 'none',
            approve_url: '/inbox',
            approver: 'owner',
          },
        };
      }
      if (call.approval_grant !== undefined && approvals.get(call.approval_grant) !== 'approved') {
        throw new AppError('refused', 'It was denied.', 'Do not.', { wireCode: 'approval_denied' });
      }
      gate.calls.push({ call, caller });
      const given = await gate.answer(call, signal);
      if (given !== null) return given;
      if (call.member === 'screenshot') return done('', `picture after ${lastActed}`);
      pictures += 1;
      lastActed = `${call.member} ${JSON.stringify(call.input)} ${pictures}`;
      return done(`did ${call.member}`);
    },
    onApproval(listener) {
      onApproval.add(listener);
      return () => onApproval.delete(listener);
    },
    approvalState: (id) => approvals.get(id) ?? null,
    async withdrawApproval(id) {
      approvals.set(id, 'expired');
    },
    control: { now: control, take, renew: take, release: drop },
    onControl(listener) {
      onControl.add(listener);
      return () => onControl.delete(listener);
    },
    sessions: {
      async open(session) {
        gate.opened.push(session);
      },
      async close(session, wipe) {
        gate.closed.push({ session, wipe });
      },
      page: (session) => (gate.opened.includes(session) ? { url: 'http://site.test/', title: 'Site' } : null),
    },
    async record(_place, file) {
      return {
        async stop() {
          gate.videos?.make(file);
          return gate.videos === null ? null : file;
        },
      };
    },
    saveTrace: async () => ({ file: null, secret: false }),
    onDownload(listener) {
      onDownload.add(listener);
      return () => onDownload.delete(listener);
    },
    async stop() {
      gate.stops += 1;
    },
    resolve(id, state) {
      approvals.set(id, state);
      for (const listener of onApproval) listener(id, state, 'user_local');
    },
    takeAs: (wanted) => void take(wanted),
    releaseAs: (wanted) => void drop(wanted),
    elsewhere: () => tell('elsewhere'),
    download(session, path, size) {
      for (const listener of onDownload) listener({ session, path, size });
    },
  };
  return gate;
}
