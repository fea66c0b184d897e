/**
 * The `shell` harness: bash with our start file. State comes from its own private OSC, messages use its input channel (a file and a key), evidence
 * is its own report. Must not know other harnesses.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import type { PaneOsc } from '../../panes/pane-engine.ts';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { botEnvironment } from '../environment.ts';
import { findProgram } from '../find-program.ts';
import type { DeliverResult, Launch, Outgoing } from '../harness.ts';
import type { Harness } from '../program.ts';
import { composeCommands } from '../wording.ts';
import { shellProgram } from './program.ts';
import { shellRules } from './rules.ts';
import { promptText, readlineFile, readSignal, type ShellSignal, signalsIn, startFile, takeKey } from './start-file.ts';

/** How much of the journal is searched for the last signals after a restart. */
const journalTailBytes = 256 * 1024;
/** Readline answers within a few milliseconds; a loaded computer may need seconds. */
const takeMs = 3000;
const acceptMs = 2000;

const seen = 'the shell reported that it took exactly this input';

export const shell = { ...shellProgram, adapter: createShellAdapter } satisfies Harness;

function createShellAdapter({ env }: Surroundings): Adapter {
  return {
    ruleset: shellRules,
    async prepare(bot, paths) {
      const bash = await findProgram('bash', env.PATH);
      if (!bash) {
        throw new AppError(
          'usage',
          'bash was not found on PATH.',
          'Install bash 4.4 or newer, then start the team again.',
        );
      }
      const nonce = randomBytes(16).toString('hex');
      const messageFile = join(paths.folder, 'message');
      const rcFile = join(paths.folder, 'bashrc');
      const inputFile = join(paths.folder, 'inputrc');
      await writeFile(inputFile, readlineFile, { mode: 0o600 });
      await writeFile(
        rcFile,
        startFile({ name: `${bot.slug}@${bot.team}`, nonce, messageFile, firstCommand: bot.command }),
        { mode: 0o600 },
      );
      const launch: Launch = {
        command: [bash, '--noprofile', '--rcfile', rcFile, '-i'],
        cwd: bot.cwd,
        env: botEnvironment(env, bot, paths, { INPUTRC: inputFile, SHELL: bash }),
        cols: 120,
        rows: 40,
      };
      return { launch, facts: { messageFile, nonce } };
    },
    drive: driveShell,
  };
}

/** The facts that `prepare` kept for this start; a restarted runtime reads them again. */
function shellFacts(facts: Readonly<Record<string, unknown>>): { nonce: string; messageFile: string } {
  return { nonce: String(facts.nonce ?? ''), messageFile: String(facts.messageFile ?? '') };
}

function driveShell(context: DriverContext): Driver {
  const { bot, paneId, panes, judge } = context;
  const name = `${bot.slug}@${bot.team}`;
  const { nonce, messageFile } = shellFacts(context.recall());
  /** OSC that came while the journal was being read, in order. null: it has been read. */
  let early: PaneOsc[] | null = [];
  /** End of the journal when it was read: signals up to there are known, also when they are reported again. */
  let readTo = 0;
  let reading = false;
  /** The engine came or went while it was being read. */
  let stirred = false;
  let prompt: { count: number; text: string; offset: number } | null = null;
  /** The shell's report about a message, by delivery id; only the one being delivered. */
  const reports = new Map<string, 'took' | 'draft'>();
  /** Counts commands that were started, prompts for more, and new prompts: it moves when Enter was taken. */
  let moves = 0;
  let draft = false;
  /** Whether a person may have typed since the prompt came: otherwise text after it was printed by a background job. */
  let touched = true;
  /** The message whose text the shell has put into its line and not entered yet. */
  let standing: string | null = null;
  /** How far earlier messages came by the journal, for {@link Driver.resume}; only its last stretch is known. */
  const came = new Map<string, 'stands' | 'entered' | 'dropped'>();

  /** Follows the text in the line. While the journal is read, only the earlier runtime can have pressed Enter. */
  function follow(signal: string, id: string): void {
    if (signal === 'took') {
      standing = id;
      came.set(id, 'stands');
    }
    if (standing === null || (signal !== 'start' && signal !== 'more' && signal !== 'ready')) return;
    if (signal === 'ready') came.set(standing, 'dropped');
    else if (early !== null) came.set(standing, 'entered');
    else came.delete(standing);
    standing = null;
  }

  /** `judged`: false for a signal that a later one has overtaken. */
  function take({ signal, fields }: ShellSignal, offset: number, judged = true): void {
    const [first = '', status = '', ...directory] = fields;
    if (signal === 'took' || signal === 'draft') reports.set(first, signal);
    if (signal === 'draft') draft = true;
    if (signal === 'start' || signal === 'more') moves += 1;
    if (signal === 'ready') {
      // Readline prints the prompt again after our key or a resize: the same count, nothing new.
      if (prompt?.count === Number(first)) return;
      prompt = { count: Number(first), text: promptText(name, directory.join(';')), offset };
      moves += 1;
      draft = false;
      // Earlier keys may still arrive: the shell itself checks again when the message is taken.
      if (early === null) touched = false;
    }
    follow(signal, first);
    if (judged) judge.event('osc', signal, { status, id: first });
  }

  /** Signals printed before this listened: after the start, or while no runtime ran. */
  async function catchUp(): Promise<void> {
    if (early === null) return;
    if (reading) {
      stirred = true;
      return;
    }
    reading = true;
    stirred = false;
    const end = panes.get(paneId)?.facts.offset ?? 0;
    const tail = await panes.read(paneId, Math.max(0, end - journalTailBytes), journalTailBytes).catch(() => null);
    reading = false;
    if (!tail && stirred) return catchUp();
    // Not readable now: retried when the engine is back.
    if (!tail && !panes.engine().running) return;
    // Readable, but without this journal: the shell's later signals have to suffice.
    const signals = tail ? signalsIn(Buffer.from(tail.bytes).toString('utf8'), nonce) : [];
    const last = signals.findLastIndex(({ signal }) => signal === 'ready' || signal === 'start' || signal === 'more');
    readTo = tail?.end ?? 0;
    for (const [index, signal] of signals.entries()) take(signal, readTo, index === last);
    const late = early;
    early = null;
    for (const osc of late) takeOsc(osc);
    context.poke();
  }
  void catchUp();

  function takeOsc(osc: PaneOsc): void {
    const signal = osc.offset > readTo ? readSignal(osc.text, nonce) : null;
    if (signal) take(signal, osc.offset);
  }

  return {
    obstacle() {
      const facts = context.facts();
      if (early !== null || !facts || !prompt) return 'starting';
      const last = facts.bottom.at(-1) ?? '';
      if (draft && last.trimEnd() === prompt.text.trimEnd()) draft = false;
      if (draft) return 'draft';
      // Our own text is no person's draft. If somebody has changed it, the shell reports that when the next message comes.
      if (standing !== null) return null;
      // A screen older than the prompt shows nothing new; the shell itself checks again when the message is taken.
      if (facts.offset < prompt.offset || !touched) return null;
      return last.startsWith(prompt.text) && last.slice(prompt.text.length).trim() !== '' ? 'draft' : null;
    },
    onOsc(osc) {
      if (osc.code !== 777) return;
      if (early !== null) early.push(osc);
      else takeOsc(osc);
    },
    onInput() {
      touched = true;
    },
    onEngine: () => void catchUp(),
    deliver,
    async resume(message) {
      await context.until(() => early === null, takeMs);
      if (early !== null) return { state: 'held', why: 'starting' };
      const how = came.get(message.deliveryId);
      if (how === undefined) return null;
      if (how === 'entered') return { state: 'verified', evidence: 'hook', detail: seen };
      if (how === 'dropped') return deliver(message);
      // The key follows an Enter that is still on its way, so the answer is about the line after it.
      const result = await put(message, 'stands');
      return result.state === 'held' && standing !== message.deliveryId ? null : result;
    },
  };

  function deliver(message: Outgoing): Promise<DeliverResult> {
    return put(message, 'new');
  }

  /** Offers a text to the shell and enters it. `stands`: only if the line holds it already; nothing is put there. */
  async function put(message: Outgoing, how: 'new' | 'stands'): Promise<DeliverResult> {
    const text = composeCommands(message);
    const offer = async (sign: '' | '='): Promise<'took' | 'draft' | null> => {
      await writeFile(messageFile, `${sign}${message.deliveryId}\n${text}`, { mode: 0o600 });
      reports.delete(message.deliveryId);
      await panes.write(paneId, takeKey);
      await context.until(() => reports.has(message.deliveryId), takeMs);
      return reports.get(message.deliveryId) ?? null;
    };
    const enter = async (): Promise<boolean> => {
      const before = moves;
      await panes.write(paneId, '\r');
      return context.until(() => moves > before, acceptMs);
    };
    reports.clear();
    return context.typing.run(async () => {
      const gate = context.gate();
      if (!gate.open) return { state: 'held', why: gate.why };
      const answer = await offer(how === 'new' ? '' : '=');
      if (answer === 'draft') return { state: 'held', why: 'draft' };
      if (answer === null) return { state: 'held', why: 'the shell did not answer; it may be busy' };
      if (await enter()) return { state: 'verified', evidence: 'hook', detail: seen };
      // Once more, and only when the line is still exactly ours: an empty one was entered, late.
      if ((await offer('=')) === 'took' && (await enter()))
        return { state: 'verified', evidence: 'hook', detail: seen };
      return {
        state: 'unconfirmed',
        evidence: null,
        detail: 'the shell held the text, but did not report that it took it after Enter',
      };
    });
  }
}
