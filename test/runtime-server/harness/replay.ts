/** Replays a recording through a real emulator into a judge, on the recording's own clock. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import headless from '@xterm/headless';
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import type { Clock } from '../../../src/kit/clock/clock.ts';
import type { BotState } from '../../../src/runtime-server/harness/harness.ts';
import { createJudge, type Judge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules, type Ruleset } from '../../../src/runtime-server/harness/judge/rules.ts';
import type { PaneFacts } from '../../../src/runtime-server/panes/pane-engine.ts';
import { readFacts } from './screen-facts.ts';

export const recording = (name: string) => fileURLToPath(new URL(`../../data/tui/${name}`, import.meta.url));

type Recorded = readonly [name: string, from: AgentState, states: readonly string[]];

export interface Replayed {
  /** States in order, with reasons, `unclear` as its own word. */
  readonly states: readonly string[];
  readonly facts: PaneFacts;
  readonly judge: Judge;
  readonly clock: Clock & { pass(ms: number): void };
}

export function handClock(): Clock & { pass(ms: number): void } {
  let now = 1_800_000_000_000;
  return {
    now: () => now,
    monotonic: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
}

const words = ({ state, reason }: BotState) => (reason ? `${state}: ${reason}` : state);

/** `from` is the state before the recording; after its last output time goes on for `restMs`. What comes after `until` seconds is left out. */
export async function replay(
  file: string,
  ruleset: Ruleset,
  {
    from = 'starting',
    restMs = 3000,
    until = Infinity,
    onFacts = () => {},
  }: { from?: AgentState; restMs?: number; until?: number; onFacts?: (facts: PaneFacts) => void } = {},
): Promise<Replayed> {
  const [, ...lines] = readFileSync(recording(file), 'utf8').trim().split('\n');
  const terminal = new headless.Terminal({ cols: 120, rows: 40, allowProposedApi: true });
  const clock = handClock();
  const judge = createJudge({
    ruleset,
    matcher: compileRules(ruleset),
    clock,
    from: { state: from, reason: null, since: clock.now() },
  });
  let title = '';
  terminal.onTitleChange((text) => {
    title = text;
  });
  const states: string[] = [words(judge.state())];
  const note = () => {
    const now = words(judge.state());
    if (now !== states.at(-1)) states.push(now);
  };
  /** Time passes in steps, as timers would fire. */
  const pass = (ms: number) => {
    for (let left = ms; left > 0; ) {
      const step = Math.max(1, Math.min(left, judge.next() ?? left));
      clock.pass(step);
      left -= step;
      judge.tick();
      note();
    }
  };
  let at = 0;
  let facts = readFacts(terminal, { title, progress: null, offset: 0, revision: 0 });
  for (const line of lines) {
    const [seconds, kind, data] = JSON.parse(line) as [number, string, string];
    if (kind !== 'o') continue;
    if (seconds > until) break;
    pass(Math.round((seconds - at) * 1000));
    at = seconds;
    await new Promise<void>((resolve) => terminal.write(data, resolve));
    facts = readFacts(terminal, { title, progress: null, offset: 0, revision: facts.revision + 1 });
    judge.look(facts);
    onFacts(facts);
    note();
  }
  pass(restMs);
  return { states, facts, judge, clock };
}

/** What title and screen show in the recordings that every agent program has: name, state before, states in it. `dialog`: the question that some end in. */
export const usualRecordings = (dialog: string): readonly Recorded[] => [
  ['start-idle', 'starting', ['starting', 'idle']],
  ['submit-working', 'idle', ['idle', 'working']],
  ['finished-idle', 'working', ['working', 'idle']],
  ['permission-dialog', 'working', ['working', dialog]],
  ['dialog-stray-text', 'working', ['working', dialog, 'idle']],
  ['interrupt', 'working', ['working', 'idle']],
  ['typed-while-working', 'working', ['working']],
];

/** Those of the programs into whose composer a message is pasted. */
export const pastedRecordings: readonly Recorded[] = [
  ['multi-line-paste', 'idle', ['idle', 'working', 'idle']],
  ['big-paste', 'idle', ['idle', 'working', 'idle']],
  ['slash-command', 'idle', ['idle']],
];
