/**
 * The questions of a program that asks over its own channel (an HTTP server, a file of events) and takes the answer there. Each waits as an approval
 * until a person answers it there or in the pane, whichever comes first. Used by opencode and qwen. Must not know the channel.
 */
import type { DriverContext } from './adapter.ts';
import { createApprovalQuestions, cuttable, type End, type HeldQuestion, wordsOf } from './approval-question.ts';
import { actionOf, questionOf } from './claude/questions.ts';

/** A program asks one thing at a time, its sub-agents a few; more would only bury the person's inbox. */
const maxOpen = 20;

/** A program's question. Tool and fields are named as in `claude/questions.ts` (`Bash`, `Edit`, `Write`, `WebFetch`). */
export interface ChannelQuestion {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The question as text, for the bot's state. */
  readonly words: string;
  /** The question does not show all that it asks for: it is answered in the pane, where the program shows it. */
  readonly paneOnly?: boolean;
  /** The change as the program describes it; otherwise built from `input`. */
  readonly summary?: string;
}

interface ChannelDecision {
  readonly allow: boolean;
  readonly note: string;
}

interface ChannelQuestions {
  asked(question: ChannelQuestion): void;
  /** Somebody answered in the pane. */
  answered(id: string): void;
  /** All questions still open after the channel was away; the others were answered in between. */
  settle(open: readonly ChannelQuestion[]): void;
  /** The program has ended. */
  ended(): void;
  /** The first question that is still open. */
  first(): ChannelQuestion | null;
  list(): readonly ChannelQuestion[];
  /** The approvals of open questions. */
  ids(): readonly string[];
  /** Releases the questions: their approvals stay, and the next runtime that takes over the bot joins them. */
  close(): void;
}

interface Open {
  readonly question: ChannelQuestion;
  readonly cut: (end: End) => void;
  readonly ended: Promise<End>;
  approval: string | null;
  /** A decision is being delivered: what the program reports about this question from now on is its echo. */
  replied: boolean;
}

export function createChannelQuestions(
  context: DriverContext,
  options: {
    /** Prefix of the key by which approvals recognise a repeated question. */
    readonly harness: string;
    /** Delivers the decision. `gone`: the program no longer asks. Rejects where delivery failed. */
    readonly reply: (id: string, decision: ChannelDecision) => Promise<'taken' | 'gone'>;
  },
): ChannelQuestions {
  const { bot } = context;
  const approvals = createApprovalQuestions(context, options.harness);
  const { note } = approvals;
  const open = new Map<string, Open>();
  const away = new AbortController();
  let { earlier } = approvals;

  function keep(): void {
    const asking = [...open].flatMap(([call, { approval }]): HeldQuestion[] =>
      approval === null ? [] : [{ call, id: approval }],
    );
    context.remember({ asking });
  }

  function remove(id: string): void {
    open.delete(id);
    keep();
    context.poke();
  }

  async function handOver(entry: Open, decision: ChannelDecision): Promise<void> {
    entry.replied = true;
    try {
      if ((await options.reply(entry.question.id, decision)) === 'gone')
        note('its question was already over when the answer came');
      remove(entry.question.id);
    } catch (fault) {
      // The question is still in the pane and its approval is decided: a person at the pane sees it.
      entry.replied = false;
      note(`the answer could not be delivered: ${wordsOf(fault)}`);
    }
  }

  async function put(entry: Open): Promise<void> {
    const { question, ended } = entry;
    if (question.paneOnly === true)
      return note('not asked as an approval: the program does not show in full what it would do');
    const said = questionOf(bot, { tool_name: question.tool, tool_input: question.input, session_id: question.id });
    if (said === null) return note('not asked as an approval: it needs more than yes or no');
    const workspace = context.recall().workspace;
    const action = await actionOf(bot, typeof workspace === 'string' ? workspace : null, said);
    const { verdict, rule } = context.policy.decide(action, null);
    if (verdict !== 'ask') {
      note(`${verdict === 'allow' ? 'allowed' : 'refused'} without asking: ${rule}`);
      return handOver(entry, { allow: verdict === 'allow', note: verdict === 'allow' ? '' : `Not allowed: ${rule}` });
    }
    const dedupeKey = `${options.harness}:${bot.agentId}:${question.id}`;
    const onAsked = (id: string): void => {
      entry.approval = id;
      keep();
    };
    const ask = { ...said.ask, summary: question.summary ?? said.ask.summary, dedupeKey, action };
    const answer = await approvals.ask(ask, { away: away.signal, ended, onAsked });
    if (away.signal.aborted || answer === 'released' || answer.kind === 'withdrawn') return;
    if (answer.kind === 'approve') await handOver(entry, { allow: true, note: '' });
    else if (answer.kind === 'reject') {
      await handOver(entry, { allow: false, note: `A person rejected this${answer.note ? `: ${answer.note}` : '.'}` });
    }
    // Expired: the question stays in the pane for a person to answer.
    else {
      entry.approval = null;
      keep();
    }
  }

  function begin(question: ChannelQuestion): void {
    if (away.signal.aborted || open.has(question.id)) return;
    if (open.size >= maxOpen) {
      note(`not asked as an approval: ${open.size} questions are already waiting`);
      return;
    }
    const entry: Open = { question, ...cuttable(), approval: null, replied: false };
    open.set(question.id, entry);
    put(entry).catch((fault: unknown) => {
      if (!away.signal.aborted) note(`not asked as an approval: ${wordsOf(fault)}`);
    });
  }

  function end(entry: Open, surface: string): void {
    if (entry.replied) return;
    entry.cut({ kind: 'withdrawn', surface });
    remove(entry.question.id);
  }

  return {
    asked: begin,
    answered(id) {
      const entry = open.get(id);
      if (entry) end(entry, 'pane');
    },
    settle(now) {
      const ids = new Set(now.map(({ id }) => id));
      for (const entry of [...open.values()]) if (!ids.has(entry.question.id)) end(entry, 'pane');
      for (const question of now) begin(question);
      const gone = earlier.filter(({ call }) => !ids.has(call));
      earlier = [];
      for (const { id } of gone) approvals.withdraw(id);
      keep();
    },
    ended() {
      for (const entry of [...open.values()]) end(entry, 'engine');
    },
    first: () => [...open.values()][0]?.question ?? null,
    list: () => [...open.values()].map(({ question }) => question),
    ids: () => [...open.values()].flatMap(({ approval }) => approval ?? []),
    close() {
      away.abort();
      for (const { cut } of open.values()) cut('released');
    },
  };
}
