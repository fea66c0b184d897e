/**
 * Scenes that harnesses play alike beside the rows of the conformance kit, and what their own scenes are made of. What differs is given: how a dialog
 * looks, who is the witness.
 */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  BotSpec,
  DeliverResult,
  ExecOptions,
  ExecResult,
  HarnessBot,
} from '../../src/runtime-server/harness/harness.ts';
import type { Bench } from './harness-play.ts';
import { readDialog } from './scenes.ts';

type Key = 'Enter' | 'Escape';

export interface Common {
  /** The file that `RUNSHELL` makes, and the one that `WRITE` does. */
  readonly made: string;
  readonly second: string;
  bottom(): string;
  /** Sends what must be verified. */
  verified(words: string): Promise<DeliverResult>;
  /** One question is an approval now. */
  asked(): Promise<void>;
  decide(decision: 'approve' | 'reject', note?: string | null): void;

  found(name: string, version: string, signedIn?: true): Promise<void>;
  /** `then`: what else is to be seen, with what it says. */
  witnessed(by: string, evidence: 'hook' | 'transcript', then: () => Promise<string>): Promise<void>;
  /** `dialog`: what its pane says meanwhile. */
  answered(dialog: string): Promise<void>;
  fileAsked(how: string): Promise<void>;
  answeredInPane(dialog: string, keys: readonly Key[]): Promise<void>;
  outlives(again: () => void): Promise<void>;
  interrupted(how: string, shown: string, presses?: number): Promise<void>;
  refusesWith(name: string): Promise<void>;
  exec(
    spec: BotSpec,
    how: {
      readonly lateMs: number;
      /** Of refusals, where its events say how many there were. */
      readonly refused?: { readonly ask?: number; readonly plan?: number; readonly edit?: number };
      /** A conversation goes on, and a provider that refuses fails. */
      readonly resumes?: true;
    },
  ): Promise<void>;
}

export function createCommon(bench: Bench, live: () => HarnessBot): Common {
  const { scene, state, open, until, people, work, model } = bench;
  const made = join(work, 'made');
  const second = join(work, 'second');
  const bottom = () => live().explain().bottom.join('\n');
  const press = (...keys: string[]) => live().input({ keys });

  async function verified(words: string): Promise<DeliverResult> {
    const result = await bench.sent(live(), words);
    assert.equal(result.state, 'verified', JSON.stringify(result));
    return result;
  }
  const asked = () => until('the question', () => live().explain().approvals.length === 1, live());
  const decide = (decision: 'approve' | 'reject', note: string | null = null) =>
    people.answer(String(live().explain().approvals[0]), decision, note);

  return {
    made,
    second,
    bottom,
    verified,
    asked,
    decide,

    found: (harness, version, signedIn) =>
      scene(`found: installed, version, covered by the rules${signedIn ? ', signed in' : ''}`, async () => {
        const found = (await bench.harnesses.found()).find(({ name }) => name === harness);
        assert.deepEqual([found?.installed, found?.version, found?.covered], [true, version, true]);
        if (signedIn) assert.equal(found?.signedIn, true);
        return found?.detail;
      }),

    witnessed: (by, evidence, then) =>
      scene(`a message is verified by ${by}; the turn is working, then idle`, async () => {
        const from = performance.now();
        const result = await verified('say hello');
        const took = Math.round(performance.now() - from);
        assert.equal('evidence' in result && result.evidence, evidence, JSON.stringify(result));
        await open(live());
        return `${took} ms to the witness; ${await then()}; ${bench.history()}`;
      }),

    async answered(dialog) {
      for (const decision of ['approve', 'reject'] as const) {
        await scene(`a permission question is answered as an approval: ${decision}`, async () => {
          rmSync(made, { force: true });
          await verified('RUNSHELL please');
          await asked();
          await state(live(), 'needs_you');
          assert.equal((await live().deliver(bench.message('into the dialog'))).state, 'held');
          await until('the dialog', () => bottom().includes(dialog), live());
          assert.equal(people.held.at(-1)?.ask.summary, 'touch made && ls');
          decide(decision, decision === 'reject' ? 'not on a Sunday' : null);
          await open(live());
          assert.equal(existsSync(made), decision === 'approve');
          return bench.history();
        });
      }
    },

    fileAsked: (how) =>
      scene(`a change of a file is asked, ${how}`, async () => {
        await verified('WRITE it');
        await asked();
        const ask = people.held.at(-1)?.ask;
        decide('approve');
        await open(live());
        assert.ok(existsSync(second));
        return `${ask?.title}: ${ask?.summary.replaceAll('\n', ' ⏎ ').slice(0, 300)}`;
      }),

    async answeredInPane(dialog, keys) {
      for (const key of keys) {
        await scene(`a question answered in the pane with ${key}: the approval is withdrawn there`, async () => {
          rmSync(made, { force: true });
          await verified('RUNSHELL again');
          await asked();
          await until('the dialog', () => bottom().includes(dialog), live());
          await readDialog();
          await press(key);
          await until('its end', () => people.held.at(-1)?.ended !== null, live());
          assert.deepEqual(people.held.at(-1)?.ended, { kind: 'withdrawn', surface: 'pane' });
          await open(live());
          assert.equal(existsSync(made), key === 'Enter');
          return bench.history();
        });
      }
    },

    outlives: (again) =>
      scene(
        'a question outlives the runtime that asked: taken up again, it joins its approval and is answered',
        async () => {
          rmSync(made, { force: true });
          await verified('RUNSHELL once more');
          await asked();
          const before = people.held.length;
          again();
          await asked();
          assert.equal(people.held.length, before);
          decide('approve');
          await open(live());
          assert.ok(existsSync(made));
          return bench.history();
        },
      ),

    interrupted: (how, shown, presses = 1) =>
      scene(`an interrupt in the pane (${how}) is idle`, async () => {
        await verified('SLOW one');
        await until('text', () => bottom().includes(shown), live());
        for (let time = 0; time < presses; time += 1) {
          if (time > 0) await delay(300);
          await press('Escape');
        }
        await state(live(), 'idle');
        await open(live());
        return bench.history();
      }),

    refusesWith: (name) =>
      scene(`a provider that refuses is idle with what ${name} says`, async () => {
        await verified('ERR400 please');
        await until('the reason', () => live().state().reason?.includes('the last turn failed') ?? false, live());
        await open(live());
        return bench.history();
      }),

    exec: (spec, { lateMs, refused = {}, resumes }) =>
      scene(`exec: ask, accept_edits, plan,${resumes ? ' resumed,' : ''} and a deadline`, async () => {
        const run = (words: string, mode: ExecOptions['mode'], rest: Partial<ExecOptions> = {}) =>
          bench.harnesses.exec(spec, bench.paths('exec'), words, { mode, timeoutMs: 60_000, ...rest });
        const counted = (result: ExecResult, count: number | undefined) =>
          count === undefined || assert.equal(result.refused, count, JSON.stringify(result));
        const plain = await run('--help say hello', 'ask');
        assert.deepEqual([plain.state, plain.text], ['done', 'A plain answer.'], JSON.stringify(plain));
        for (const file of [made, second]) rmSync(file, { force: true });
        const turnedDown = await run('RUNSHELL', 'ask');
        assert.deepEqual([turnedDown.state, existsSync(made)], ['done', false], JSON.stringify(turnedDown));
        counted(turnedDown, refused.ask);
        const planned = await run('WRITE', 'plan');
        assert.equal(existsSync(second), false, JSON.stringify(planned));
        counted(planned, refused.plan);
        const edited = await run('WRITE', 'accept_edits');
        assert.equal(existsSync(second), true, JSON.stringify(edited));
        counted(edited, refused.edit);
        if (resumes) {
          const further = await run('and further', 'plan', { resume: String(plain.sessionId) });
          assert.deepEqual([further.state, further.sessionId], ['done', plain.sessionId], JSON.stringify(further));
          const failed = await run('ERR400', 'ask');
          assert.equal(failed.state, 'failed', JSON.stringify(failed));
        }
        model.script(() => new Promise(() => {}));
        const late = await run('hello', 'ask', { timeoutMs: lateMs });
        assert.equal(late.state, 'timeout');
        return `plain ${JSON.stringify({ ...plain, sessionId: undefined })}; refused ${turnedDown.refused} ${turnedDown.detail}; ${late.detail}`;
      }),
  };
}
