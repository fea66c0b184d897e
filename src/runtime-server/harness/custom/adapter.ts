/**
 * The `custom` harness: any program in a pane. It has no witness, so a delivery is `best_effort` at most: typed only while the
 * pane has been quiet and shows no question, and entered only once the screen shows it. Must not know what the program is.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { botEnvironment } from '../environment.ts';
import { findProgram } from '../find-program.ts';
import type { BotSpec, DeliverResult, Launch, Outgoing } from '../harness.ts';
import type { Harness } from '../program.ts';
import { countText } from '../same-text.ts';
import { composePrompt, squeeze } from '../wording.ts';
import { customProgram } from './program.ts';
import { customRules } from './rules.ts';

/** Output must have stopped for this long before the program counts as quiet. */
const quietMs = 1000;
/** Output counts as work only after this long: an echo or a clock is not work. */
const printingMs = 400;
/** The program draws typed text within this time, or it has not taken it. */
const shownMs = 2500;
/** Between the drawing of a paste and Enter, for programs that take both together as one paste. */
const settleMs = 150;
/** A dialog that is redrawn disappears for a moment. */
const answeredMs = 400;
/** The screen shows at least this many lines of a long text. */
const maxLines = 12;
/** The sides of a box, a scroll bar, a prompt before a line: not of the text. */
const frame = /^[\s│┃|║▌▐]+|[\s│┃|║▌▐█]+$/gu;
/** Markers that programs show instead of a paste. */
const pasteMark = /\[[^\]\n]*\b[Pp]aste[^\]\n]*\]/gu;
/** A line-reading program loses text beyond the terminal's line buffer (1024 bytes on macOS, 4096 on Linux). */
const maxLineBytes = 1000;

export const custom = { ...customProgram, adapter: createCustomAdapter } satisfies Harness;

function createCustomAdapter({ env, processes }: Surroundings): Adapter {
  /** Reports an unknown command here: the pane would only close at once. */
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
    async prepare(bot, paths) {
      if (!bot.command) {
        throw new AppError(
          'usage',
          `${bot.slug}@${bot.team} has the harness "custom" but no command.`,
          'Give it `command:` in team.yaml.',
        );
      }
      // As a person writes it in team.yaml: words, quotes, variables. The program replaces the shell at once.
      const shell = (await findProgram('bash', env.PATH)) ?? (await findProgram('sh', env.PATH));
      if (!shell)
        throw new AppError('usage', 'sh was not found on PATH.', 'Put sh on PATH, then start the team again.');
      const simple = /^[\w./:@%+=,-]+( [\w./:@%+=,-]+)*$/.test(bot.command);
      const launchEnv = botEnvironment(env, bot, paths);
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
  /** True once the program has reported anything about itself: from then on output is not enough to decide. */
  let reports = false;
  let offset = context.facts()?.offset ?? 0;
  let busySince: number | null = null;
  let lastOutput = clock.monotonic();
  let cancel = timers.after(quietMs, quiet);
  let cancelAnswered: (() => void) | null = null;
  /** The message whose text was typed without Enter: it may still be there, unseen. */
  let left: string | null = null;

  const dialogStands = () => judge.sees()?.startsWith('custom.dialog.') === true;

  function quiet(): void {
    busySince = null;
    if (!reports && !dialogStands()) judge.event('osc', 'quiet', {});
    context.poke();
  }

  /** The dialog is gone, and was not only left out of one drawing of the screen. */
  function lookForAnswer(): void {
    const gone = judge.state().state === 'needs_you' && !dialogStands();
    if (gone && cancelAnswered === null) {
      cancelAnswered = timers.after(answeredMs, () => {
        cancelAnswered = null;
        if (!dialogStands()) judge.event('osc', 'answered', {});
        context.poke();
      });
    } else if (!gone) {
      cancelAnswered?.();
      cancelAnswered = null;
    }
  }

  /** In how many places the screen shows each line of a text, and each mark that a paste collapses to. */
  function look(text: string): { readonly lines: readonly number[]; readonly marks: number } {
    const rows = (context.facts()?.bottom ?? []).map((row) => row.replace(frame, ''));
    const screen = rows.join('\n');
    const lines = text.split('\n').filter((line) => squeeze(line) !== '');
    return {
      lines: lines.slice(-maxLines).map((line) => countText(screen, line)),
      marks: screen.match(pasteMark)?.length ?? 0,
    };
  }

  /** Whether the screen shows the typed text in time. */
  async function comesUp(text: string, before: ReturnType<typeof look>): Promise<boolean> {
    if (squeeze(text) === '') return true;
    return context.until(() => {
      const now = look(text);
      const whole = now.lines.every((count) => count > 0) && (now.lines.at(-1) ?? 0) > (before.lines.at(-1) ?? 0);
      return whole || now.marks > before.marks;
    }, shownMs);
  }

  /** Types one piece and its Enter. Never presses Enter on text that the screen does not show, nor on a question. */
  async function enter(piece: string, bytes: string): Promise<'entered' | 'unseen' | 'asked'> {
    const before = look(piece);
    await panes.write(paneId, bytes);
    const shown = await comesUp(piece, before);
    if (dialogStands()) return 'asked';
    if (!shown) return 'unseen';
    if (bytes !== piece) await context.until(() => false, settleMs);
    await panes.write(paneId, '\r');
    return 'entered';
  }

  return {
    obstacle() {
      if (dialogStands()) return 'a dialog waits for an answer';
      if (left !== null) return `the text of message ${left}, which Gantry typed, may still stand there without Enter`;
      const facts = context.facts();
      // The program has its own full screen with nothing drawn in it: it is still starting.
      if (facts?.altScreen === true && facts.bottom.length === 0) return 'its screen is still empty';
      return clock.monotonic() - lastOutput < quietMs ? 'the program is printing' : null;
    },
    onInput() {
      left = null;
    },
    onFacts(facts) {
      if (facts.progress !== null) reports = true;
      lookForAnswer();
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
        const pieces = framed ? [text] : text.split('\n');
        const long = framed ? undefined : pieces.find((line) => Buffer.byteLength(line) > maxLineBytes);
        if (long !== undefined) {
          return {
            state: 'failed',
            evidence: null,
            detail: `a line has ${Buffer.byteLength(long)} bytes; the program reads lines and would lose everything after ${maxLineBytes}`,
          };
        }
        for (const [at, piece] of pieces.entries()) {
          const how = await enter(piece, framed ? `\x1b[200~${piece}\x1b[201~` : piece);
          if (how === 'entered') continue;
          left = message.deliveryId;
          context.poke();
          const where = at === 0 ? '' : ` from line ${at + 1} on`;
          const why = how === 'asked' ? 'a dialog opened' : `the screen did not show the text${where}`;
          return { state: 'unconfirmed', evidence: null, detail: `${why}; Enter was not pressed` };
        }
        return {
          state: 'best_effort',
          evidence: null,
          detail: 'the screen showed the text and Enter was pressed; this program reports nothing back',
        };
      });
    },
  };
}
