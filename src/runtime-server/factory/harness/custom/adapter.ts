/**
 * The `custom` harness: any program in a pane. It has no witness, so a delivery is `best_effort` at most: typed only while the
 * pane has been quiet. Must not know what the program is.
 */
import { AppError } from '../../../../contracts/common/errors.ts';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { botEnvironment } from '../environment.ts';
import { findProgram } from '../find-program.ts';
import type { BotSpec, DeliverResult, Launch, Outgoing } from '../harness.ts';
import { composePrompt } from '../wording.ts';
import { customRules } from './rules.ts';

/** Output must have stopped for this long before the program counts as quiet. */
const quietMs = 1000;
/** Output must go on for this long before it counts as work: an echo or a clock is not. */
const printingMs = 400;
/** Time for the program to draw what was pasted before Enter comes. */
const settleMs = 150;
/** A line-reading program loses what is longer than the terminal's line buffer (1024 bytes on macOS, 4096 on Linux). */
const maxLineBytes = 1000;

export function createCustomAdapter({ env, processes }: Surroundings): Adapter {
  /** A word that the shell does not know is said now, not by a pane that closes at once. */
  async function checkCommand(bot: BotSpec, shell: string, launchEnv: Record<string, string>): Promise<void> {
    const word = bot.command?.split(' ')[0] ?? '';
    const ran = await processes.run([shell, '-c', 'command -v -- "$1"', 'sh', word], {
      cwd: bot.cwd,
      env: launchEnv,
      input: null,
      timeoutMs: 5000,
    });
    if (ran.code === 0 || ran.timedOut) return;
    throw new AppError(
      'usage',
      `The command "${word}" of ${bot.slug}@${bot.team} was not found.`,
      'Install it, or correct `command:` in team.yaml.',
    );
  }

  return {
    ruleset: customRules,
    async prepare(bot, doors) {
      if (!bot.command) {
        throw new AppError(
          'usage',
          `${bot.slug}@${bot.team} has the harness "custom" but no command.`,
          'Give it `command:` in team.yaml.',
        );
      }
      // As a person writes it in team.yaml: words, quotes, variables. The shell gives way to the program at once.
      const shell = (await findProgram('bash', env.PATH)) ?? (await findProgram('sh', env.PATH));
      if (!shell) throw new AppError('usage', 'No sh was found on PATH.', 'Put sh on PATH, then start the team again.');
      const simple = /^[\w./:@%+=,-]+( [\w./:@%+=,-]+)*$/.test(bot.command);
      const launchEnv = botEnvironment(env, bot, doors);
      if (simple) await checkCommand(bot, shell, launchEnv);
      const launch: Launch = {
        command: [shell, '-c', simple ? `exec ${bot.command}` : bot.command],
        cwd: bot.cwd,
        env: launchEnv,
        cols: 120,
        rows: 40,
      };
      return { launch, facts: {} };
    },
    drive: driveCustom,
  };
}

function driveCustom(context: DriverContext): Driver {
  const { judge, clock, timers, panes, paneId } = context;
  /** True once the program has said anything about itself: from then on output alone decides nothing. */
  let reports = false;
  let offset = context.facts()?.offset ?? 0;
  let busySince: number | null = null;
  let lastOutput = clock.monotonic();
  let cancel = timers.after(quietMs, quiet);

  function quiet(): void {
    busySince = null;
    if (!reports) judge.event('osc', 'quiet', {});
    context.poke();
  }

  return {
    obstacle: () => (clock.monotonic() - lastOutput < quietMs ? 'the program is printing' : null),
    onFacts(facts) {
      if (facts.progress !== null) reports = true;
      if (facts.offset === offset) return;
      offset = facts.offset;
      lastOutput = clock.monotonic();
      busySince ??= lastOutput;
      if (!reports && lastOutput - busySince >= printingMs) judge.event('osc', 'printing', {});
      cancel();
      cancel = timers.after(quietMs, quiet);
    },
    onOsc(osc) {
      if (osc.code !== 133) return;
      const mark = osc.text[0];
      if (mark !== 'A' && mark !== 'B' && mark !== 'C') return;
      reports = true;
      judge.event('osc', mark === 'C' ? 'command' : 'prompt', {});
    },
    async deliver(message: Outgoing): Promise<DeliverResult> {
      const text = composePrompt(message);
      return context.typing.run(async () => {
        const gate = context.gate();
        if (!gate.open) return { state: 'held', why: gate.why };
        const framed = context.facts()?.bracketedPaste ?? false;
        if (framed) {
          await panes.write(paneId, `\x1b[200~${text}\x1b[201~`);
          const before = context.facts()?.offset ?? 0;
          await context.until(() => (context.facts()?.offset ?? 0) > before, settleMs);
          await panes.write(paneId, '\r');
        } else {
          const lines = text.split('\n');
          const long = lines.find((line) => Buffer.byteLength(line) > maxLineBytes);
          if (long !== undefined) {
            return {
              state: 'failed',
              evidence: null,
              detail: `a line has ${Buffer.byteLength(long)} bytes; the program reads lines and would lose what is over ${maxLineBytes}`,
            };
          }
          for (const line of lines) await panes.write(paneId, `${line}\r`);
        }
        return {
          state: 'best_effort',
          evidence: null,
          detail: 'typed while the pane was quiet; this program reports nothing back',
        };
      });
    },
  };
}
