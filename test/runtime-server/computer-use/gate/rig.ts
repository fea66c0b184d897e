/** The gate over a real database, a real policy and a real process on the executor's wire (program.ts). */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolsetCall } from '../../../../src/contracts/computer-use/toolset.ts';
import type { Clock } from '../../../../src/kit/clock/clock.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import type { Store } from '../../../../src/kit/store/store.ts';
import type { Fault, Looked, ProgramEvent } from '../../../../src/programs/executor/protocol.ts';
import type { ToolsetCaller, ToolsetOutcome } from '../../../../src/runtime-server/computer-use/gate.ts';
import {
  createHands,
  createOwnQuestions,
  type HandsDeps,
  handsMigrations,
} from '../../../../src/runtime-server/computer-use/index.ts';
import { createPolicy } from '../../../../src/runtime-server/policy/index.ts';
import { onEnd } from '../../../support/at-end.ts';
import { createTestClock, type TestClock } from '../../../support/test-clock.ts';
import { everythingAgreed } from '../../../support/trust.ts';

/** What the program of the test answers; nothing: it does what it is told. */
export interface Script {
  readonly looked?: Partial<Looked>;
  readonly screen?: Looked['screen'];
  readonly lookFault?: Fault;
  readonly actFault?: Fault;
  /** An action goes on until it is stopped. */
  readonly hang?: boolean;
  readonly dieAt?: 'look' | 'act';
  readonly text?: string;
  /** Asked while an action is done. */
  readonly ask?: { readonly host: string; readonly port: number; readonly addresses: readonly string[] };
  /** Told once a session is open. */
  readonly events?: readonly ProgramEvent[];
}

export interface AuditLine {
  readonly id: string;
  readonly member: string;
  readonly stage: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly input: string;
  readonly rule: string | null;
  readonly holder_id: string;
  readonly approval_id: string | null;
  readonly url: string | null;
  readonly message: string | null;
  readonly result: string | null;
}

export interface RigOptions extends Partial<Pick<HandsDeps, 'command' | 'defaults' | 'ownPorts' | 'livingRun'>> {
  /** Rules of `.gantry/policy.yaml`. */
  readonly policy?: string;
  readonly folder?: string;
  readonly store?: (store: Store) => Store;
}

export const person: ToolsetCaller = {
  userId: 'user_local',
  surface: 'browser',
  holder: { kind: 'key', id: 'browser' },
  startedByPerson: true,
  byModel: false,
};
export const key: ToolsetCaller = {
  ...person,
  surface: 'key',
  holder: { kind: 'key', id: 'key:1' },
  startedByPerson: false,
};
export const runOf = (id: string, more: Partial<ToolsetCaller> = {}): ToolsetCaller => ({
  ...person,
  holder: { kind: 'run', id },
  ...more,
});

export const click = { toolset: 'browser', member: 'left_click', input: at(10, 20) } as const;
export function at(x: unknown, y: unknown) {
  return { target: { type: 'coordinate', x, y } };
}

export async function startRig({
  policy,
  folder = mkdtempSync(join(tmpdir(), 'gantry-gate-')),
  ...given
}: RigOptions = {}) {
  onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const clock = createTestClock();
  const ids = createIds(clock as Clock);
  const lines: { message: string; facts?: unknown }[] = [];
  const push = (message: string, facts?: Record<string, unknown>) => void lines.push({ message, facts });
  const log = { warn: push, error: push };
  if (policy !== undefined) {
    mkdirSync(join(folder, '.gantry'), { recursive: true });
    writeFileSync(join(folder, '.gantry', 'policy.yaml'), policy);
  }
  const store = await openStore({ file: join(folder, 'runtime.db'), migrations: handsMigrations, clock });
  const questions = createOwnQuestions({ store, ids, timers: clock });
  const hands = createHands({
    store: given.store?.(store) ?? store,
    policy: createPolicy({ workspace: folder, trust: everythingAgreed, log }),
    questions,
    clock,
    timers: clock,
    ids,
    log,
    command: given.command ?? [process.execPath, join(import.meta.dirname, 'program.ts'), folder],
    env: {},
    folder: join(folder, 'computer-use'),
    secret: 'a secret of the test, and of no other',
    uploads: { roots: [folder], hidden: [join(folder, 'home')] },
    ownPorts: given.ownPorts ?? (() => [3010]),
    ...(given.livingRun && { livingRun: given.livingRun }),
    defaults: given.defaults ?? 'own',
    approver: 'owner',
    approveUrl: (id) => `https://gantry.test/approvals/${id}`,
  });
  await hands.start();
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await hands.close();
    await store.close();
  };
  onEnd(close);
  const acts = (): Record<string, unknown>[] => {
    const file = join(folder, 'acts.log');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return {
    clock,
    hands,
    gate: hands.gate,
    store,
    questions,
    folder,
    lines,
    close,
    script(script: Script): void {
      // Whole or not at all: the program may read it at any moment.
      writeFileSync(join(folder, 'script.json.new'), JSON.stringify(script));
      renameSync(join(folder, 'script.json.new'), join(folder, 'script.json'));
    },
    /** What the program was told, in order. */
    acts,
    /** Members that it was told to do. */
    done: () => acts().flatMap((line) => (line.do === 'act' ? [String(line.member)] : [])),
    /** Every row of the audit, in order; ends that wait for another row are written by their time. */
    async audit() {
      await clock.advance(30);
      return store.read((tx) => tx.all<AuditLine>('SELECT * FROM computer_use_action ORDER BY id'));
    },
    call: (
      call: Partial<ToolsetCall> & Pick<ToolsetCall, 'toolset' | 'member' | 'input'>,
      caller: ToolsetCaller = person,
      signal: AbortSignal = new AbortController().signal,
    ): Promise<ToolsetOutcome> => hands.gate.call(call, caller, signal),
  };
}

export type Rig = Awaited<ReturnType<typeof startRig>>;

/** Of a call that a person is asked about. */
export function askedOf(outcome: ToolsetOutcome): { readonly id: string; readonly words: string } {
  if (outcome.kind !== 'approval_required') throw new Error(`It ended as ${outcome.kind}.`);
  return { id: outcome.approval.id, words: outcome.words };
}

export function resultOf(outcome: ToolsetOutcome) {
  if (outcome.kind !== 'done') throw new Error(`It ended as ${outcome.kind}.`);
  return outcome.result;
}

/** The wire code of what it throws. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as { options?: { wireCode?: string } }).options?.wireCode ?? String(error);
  }
  return 'nothing was thrown';
}

export type { TestClock };
