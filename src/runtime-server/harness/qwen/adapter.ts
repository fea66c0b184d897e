/**
 * The `qwen` harness: Qwen Code in a pane, with an input file of lines and a file of its events beside the screen. Messages and
 * answers go through the input file; evidence is an event, else its transcript. Must not know other harnesses.
 */
import { existsSync } from 'node:fs';
import type { Adapter, Driver, DriverContext, Surroundings } from '../adapter.ts';
import { type ChannelQuestion, createChannelQuestions } from '../channel-questions.ts';
import type { DeliverResult, Outgoing } from '../harness.ts';
import { sessionToResume } from '../launch-parts.ts';
import type { Harness } from '../program.ts';
import { holdsPrompt, transcriptOf } from '../prompt-witness.ts';
import { record } from '../values.ts';
import { composePrompt, containsText } from '../wording.ts';
import { type ChannelEnd, type Line, openChannel } from './channel.ts';
import { execQwen } from './exec.ts';
import { type Channel, launchQwen, qwenHome, transcriptFile } from './launch.ts';
import { promptOf, questionIn, toolResultsIn } from './lines.ts';
import { qwenProgram } from './program.ts';
import { qwenRules } from './rules.ts';
import { readQwenUsage } from './usage.ts';

/** It checks its file every half second, and a loaded computer lets it wait: nothing takes the line away meanwhile. */
const witnessMs = 15_000;
const answerMs = 5000;

export const qwen = { ...qwenProgram, adapter: createQwenAdapter } satisfies Harness;

function createQwenAdapter(around: Surroundings): Adapter {
  return {
    ruleset: qwenRules,
    async prepare(bot, paths, memory) {
      const home = qwenHome(around, bot);
      const last = sessionToResume(bot, memory);
      // Before its first message there is no conversation to continue, and the program would refuse and end.
      const begun = last !== null && existsSync(transcriptFile(home, bot.cwd, last));
      const known = begun ? last : null;
      const { launch, sessionId, channel } = await launchQwen(around, bot, paths, known);
      const transcript = transcriptFile(home, bot.cwd, sessionId);
      return { launch, facts: { sessionId, transcript, channel, read: 0, workspace: paths.workspace } };
    },
    drive: driveQwen,
    exec: (bot, paths, text, options) => execQwen(around, bot, paths, text, options),
    usage: readQwenUsage,
  };
}

function driveQwen(context: DriverContext): Driver {
  const { judge, timers } = context;
  const facts = context.recall();
  const files = isChannel(facts.channel) ? facts.channel : null;
  /** The message on its way, while it waits to be reported. */
  let pending: { text: string; seen: boolean } | null = null;
  /** Questions whose answer was sent, with the program's reaction. */
  const answers = new Map<string, 'taken' | 'gone' | null>();
  /** Which tool call a question is about. */
  const calls = new Map<string, string>();
  let dialogSeen = false;
  let channel: ChannelEnd | null = null;

  const questions = createChannelQuestions(context, {
    harness: 'qwen',
    async reply(id, { allow }) {
      if (!channel) throw new Error('its input file is unknown');
      answers.set(id, null);
      await channel.send({ type: 'confirmation_response', request_id: id, allowed: allow });
      if (!(await context.until(() => answers.get(id) !== null, answerMs)))
        throw new Error('it did not accept the answer');
      const taken = answers.get(id) ?? 'gone';
      answers.delete(id);
      return taken;
    },
  });

  const dialogStands = () => judge.sees()?.startsWith('qwen.dialog.') === true;

  function tell(): void {
    const question = questions.first();
    if (question) judge.event('hook', 'asks', { words: question.words });
    context.poke();
  }

  /** A question is no longer open: another one replaced it, or the turn continues. */
  function over(id: string): void {
    calls.delete(id);
    questions.answered(id);
  }

  function take(line: Line): void {
    switch (line.type) {
      case 'system':
        judge.event('hook', 'attached', {});
        break;
      case 'user': {
        const prompt = promptOf(line);
        if (prompt !== null && pending && containsText(prompt, pending.text)) pending.seen = true;
        const ended = toolResultsIn(line);
        for (const [id, call] of calls) if (ended.includes(call)) over(id);
        // A sub-agent's lines show only that the main turn continues.
        if (typeof line.parent_tool_use_id !== 'string' && questions.first() === null)
          judge.event('hook', 'working', {});
        break;
      }
      case 'control_request': {
        const asked = questionIn(line);
        if (asked === null) break;
        calls.set(asked.id, asked.call);
        // Its dialog may have been drawn before this: an unchanged screen reports nothing more.
        dialogSeen = dialogStands();
        questions.asked(asked);
        break;
      }
      case 'control_response': {
        const { request_id: id, subtype } = record(line.response);
        if (typeof id !== 'string') break;
        if (answers.has(id)) answers.set(id, subtype === 'error' ? 'gone' : 'taken');
        else over(id);
        if (questions.first() === null || answers.has(id)) judge.event('hook', 'working', {});
        break;
      }
      default:
        return;
    }
    tell();
  }

  if (files) {
    // Questions from before this runtime started, still unanswered, are asked again and join their approval.
    for (const open of heldQuestions(facts.questions)) {
      calls.set(open.id, open.call);
      questions.asked(open);
    }
    channel = openChannel(files, {
      from: typeof facts.read === 'number' ? facts.read : 0,
      timers,
      onLine: take,
      onRead: (read) => context.remember({ read, questions: open() }),
    });
    channel.ready.then(() => questions.settle(questions.list())).catch(() => undefined);
  }

  function open(): readonly (ChannelQuestion & { call: string })[] {
    return questions.list().map((question) => ({ ...question, call: calls.get(question.id) ?? '' }));
  }

  /** Whether its transcript holds the message. */
  async function stored(text: string): Promise<boolean> {
    for (const file of transcriptOf(context.recall())) if (await holdsPrompt(file, 0, text, promptOf)) return true;
    return false;
  }

  async function deliver(message: Outgoing): Promise<DeliverResult> {
    const gate = context.gate();
    if (!gate.open) return { state: 'held', why: gate.why };
    if (!channel) return { state: 'held', why: 'its input file is unknown' };
    const text = composePrompt(message);
    pending = { text, seen: false };
    try {
      await channel.send({ type: 'submit', text });
      if (await context.until(() => pending?.seen === true, witnessMs)) {
        return { state: 'verified', evidence: 'hook', detail: 'its event file reported this text' };
      }
      if (!message.raw && (await stored(text))) {
        return { state: 'verified', evidence: 'transcript', detail: 'its transcript holds this text' };
      }
      return {
        state: 'unconfirmed',
        evidence: null,
        detail: 'the text was written to its input file, but neither its events nor its transcript showed it',
      };
    } catch (fault) {
      return { state: 'failed', evidence: null, detail: `its input file: ${String(fault).slice(0, 200)}` };
    } finally {
      pending = null;
    }
  }

  return {
    obstacle: () => (channel ? null : 'its input file is unknown'),
    deliver,
    async resume(message) {
      // A bare text names no delivery. Otherwise the line is appended whole or not at all, and taken within a second.
      if (message.raw) return null;
      await context.until(() => false, answerMs);
      return (await stored(composePrompt(message)))
        ? { state: 'verified', evidence: 'transcript', detail: 'its transcript holds this text' }
        : null;
    },
    onFacts() {
      if (dialogStands()) dialogSeen = true;
    },
    onState({ state }) {
      // A "No" in the pane has no event: its dialog has left the screen.
      if (state === 'needs_you' || !dialogSeen) return;
      for (const { id } of questions.list()) {
        // It does not report our "No" either.
        if (answers.has(id)) answers.set(id, 'taken');
        else over(id);
      }
      dialogSeen = false;
    },
    onExit() {
      questions.ended();
      channel?.close();
    },
    close() {
      questions.close();
      channel?.close();
    },
    approvals: questions.ids,
  };
}

function isChannel(value: unknown): value is Channel {
  return (
    typeof value === 'object' &&
    value !== null &&
    'input' in value &&
    'events' in value &&
    typeof value.input === 'string' &&
    typeof value.events === 'string'
  );
}

function heldQuestions(value: unknown): (ChannelQuestion & { call: string })[] {
  return Array.isArray(value)
    ? value.filter((one) => typeof one?.id === 'string' && typeof one?.tool === 'string')
    : [];
}
