/**
 * Puts a message into a composer that takes pastes, and proves that it arrived. The paste is one framed write. Enter follows as a separate write
 * once the composer shows the text, because some programs lose an Enter that comes too early. Then a witness is awaited: the submit hook, else the
 * transcript, else the composer. Each harness supplies its own parts; must not know a harness.
 */
import type { PaneFacts } from '../panes/pane-engine.ts';
import type { DriverContext } from './adapter.ts';
import type { DeliverResult, Outgoing } from './harness.ts';
import type { PromptsSince } from './prompt-witness.ts';
import { composePrompt, containsText, messageIn } from './wording.ts';

export type Composer = { readonly kind: 'closed' | 'empty' } | { readonly kind: 'text'; readonly text: string };

interface PasteWays {
  composer(facts: PaneFacts): Composer;
  /** Whether the composer holds exactly this text, or the marker that replaces it. */
  holds(composer: Composer, text: string): boolean;
  /** Where a program keeps a long paste from its model: the text in pastes that it takes as text. Default: one. */
  pieces?(text: string): readonly string[];
  /** Asked before the first byte is typed. */
  transcript(): Promise<PromptsSince>;
  /** How long the text must be in the composer before it accepts Enter; default: not at all. */
  settleMs?(text: string): number;
  /** While it starts it shows a composer and loses its input: then the message is held and retried. Absent: it is unconfirmed. */
  readonly losesEarly?: boolean;
  /** Takes away the row that the cursor is in, then the line break before it; default: Ctrl-U does both. */
  readonly clearKeys?: string;
  /** Until the composer shows a paste. */
  readonly shownMs: number;
  /** For hook and transcript after each Enter. */
  readonly witnessMs: number;
  /** How much longer a turn is waited for that the composer testifies to. */
  readonly lateMs: number;
  /** The program says that it keeps prompts until it can begin. */
  keepsPrompts?(facts: PaneFacts): boolean;
}

interface PasteDelivery {
  deliver(message: Outgoing): Promise<DeliverResult>;
  /**
   * Of a message that a runtime was typing when it ended: submits the text if it still stands there unsent, exactly as it was pasted. Null where it
   * does not: whether Enter was pressed is not known then, unless its hook reports the text now.
   */
  resume(message: Outgoing): Promise<DeliverResult | null>;
  /** A hook reports that this prompt was taken. */
  taken(prompt: string): void;
  /** `draft`, a closed composer, a text of ours that could not be removed. null: nothing is in the way. */
  obstacle(): string | null;
  /** A person's keys are about to be written: the composer's text may be theirs from now on. */
  touched(): void;
}

const hookReported = 'its submit hook reported this text';
const transcriptEveryMs = 150;
/** How long a program that keeps prompts may take to begin, such as while it connects to its tool servers. */
const keptMs = 60_000;
/** In an empty composer it does nothing. */
const clearKey = '\x15';
/** Two for each row that a composer shows at most. */
const maxClearKeys = 100;
/** It is drawn within a frame; a loaded computer takes longer. */
const clearedMs = 300;

export function createPasteDelivery(context: DriverContext, ways: PasteWays): PasteDelivery {
  const { judge, panes, paneId } = context;
  /** The message on its way, while it waits for its witness. */
  let pending: { readonly text: string; submitted: boolean } | null = null;
  /** A text that was pasted and not taken: it may be in the composer, or appear there late. `stuck`: it could not be removed. */
  let left: { readonly text: string; readonly deliveryId: string; stuck: boolean } | null = null;

  function composer(): Composer {
    const facts = context.facts();
    return facts ? ways.composer(facts) : { kind: 'closed' };
  }

  async function witness(text: string, written: PromptsSince): Promise<'hook' | 'transcript' | null> {
    const end = context.clock.monotonic() + ways.witnessMs;
    for (;;) {
      const left = end - context.clock.monotonic();
      const pause = Math.max(0, Math.min(left, transcriptEveryMs));
      if (await context.until(() => pending?.submitted === true, pause)) return 'hook';
      if (await written(text)) return 'transcript';
      if (left <= 0) return null;
    }
  }

  const shownText = (): string => {
    const now = composer();
    return now.kind === 'text' ? now.text : '';
  };

  /** Takes what Gantry pasted out of the composer again, row by row. Only while no person can have typed there. */
  async function clear(): Promise<boolean> {
    // A key that takes away only an empty row changes nothing that can be read.
    for (let keys = 0, idle = 0; composer().kind === 'text' && keys < maxClearKeys && idle < 3; keys += 1) {
      const before = shownText();
      await panes.write(paneId, ways.clearKeys ?? clearKey);
      idle = (await context.until(() => shownText() !== before, clearedMs)) ? 0 : idle + 1;
    }
    const { kind } = composer();
    if (kind === 'empty') left = null;
    else if (left !== null && kind === 'text') left.stuck = true;
    return kind === 'empty';
  }

  /** The remains of a message that was not taken must not block the next ones. */
  async function takeOut(): Promise<string> {
    if (composer().kind !== 'text') return '';
    return (await clear()) ? ', and the text was removed again' : ', and the text could not be removed';
  }

  /** Whether the composer shows all of it. A piece goes in only once the one before is shown: pastes that come together are taken as one. */
  async function paste(text: string, deliveryId: string): Promise<boolean> {
    let soFar = '';
    for (const piece of ways.pieces?.(text) ?? [text]) {
      const before = shownText();
      soFar += piece;
      left = { text: soFar, deliveryId, stuck: false };
      await panes.write(paneId, `\x1b[200~${piece}\x1b[201~`);
      const shows = () => shownText() !== before && ways.holds(composer(), soFar);
      if (!(await context.until(shows, ways.shownMs))) return false;
    }
    return true;
  }

  async function type(text: string, deliveryId: string): Promise<DeliverResult | 'entered'> {
    return context.typing.run(async () => {
      const gate = context.gate();
      if (!gate.open) return { state: 'held', why: gate.why };
      if (composer().kind === 'text' && !(await clear())) return { state: 'held', why: obstacle() ?? 'draft' };
      const shown = await paste(text, deliveryId);
      if (shown) await context.until(() => false, ways.settleMs?.(text) ?? 0);
      if (!shown || !ways.holds(composer(), text)) {
        // A dialog that came up in between drops a paste; Enter would answer the dialog.
        const { kind } = composer();
        if (kind === 'closed') return { state: 'held', why: 'a dialog opened' };
        if (kind === 'empty' && ways.losesEarly === true)
          return { state: 'held', why: 'the composer did not take the text' };
        return unconfirmed(`the composer did not show the text; Enter was not pressed${await takeOut()}`);
      }
      await panes.write(paneId, '\r');
      return 'entered';
    });
  }

  /** Once, and only while the composer still shows exactly our text and nothing else has happened. */
  async function enterAgain(text: string): Promise<boolean> {
    return context.typing.run(async () => {
      if (judge.state().state !== 'idle' || !ways.holds(composer(), text)) return false;
      await panes.write(paneId, '\r');
      return true;
    });
  }

  /** Its hook or title may report the turn later, and the next message must not fall between. */
  function begun(): void {
    const claim = { state: 'working' } as const;
    const rule = `${context.bot.harness}.taken`;
    judge.take({ source: 'screen', rule, claim, seen: 'a prompt was taken', from: ['idle'] });
    context.poke();
  }

  function obstacle(): string | null {
    if (!context.facts()?.bracketedPaste) return 'the composer does not take pastes';
    const now = composer();
    if (now.kind !== 'text') return now.kind === 'empty' ? null : 'the composer is not shown';
    const ours = left !== null && (left.stuck || ways.holds(now, left.text));
    // A text of ours is no person's draft: it is removed before the next message is pasted.
    if (ours && left?.stuck === false) return null;
    const id = ours ? left?.deliveryId : messageIn(now.text);
    return id ? `the text of message ${id}, which Gantry typed, still stands in its composer` : 'draft';
  }

  /** After the first Enter. */
  async function entered(text: string, written: PromptsSince): Promise<DeliverResult> {
    let seen = await witness(text, written);
    if (!seen && (await enterAgain(text))) seen = await witness(text, written);
    if (seen) {
      left = null;
      if (seen === 'hook') return verified('hook', hookReported);
      begun();
      return verified('transcript', 'its transcript holds this text');
    }
    // The composer held exactly our text before Enter; emptied into a turn, it was taken.
    const emptied = () => composer().kind === 'empty' && judge.state().state === 'working';
    const facts = context.facts();
    const keeps = facts !== null && ways.keepsPrompts?.(facts) === true;
    if (await context.until(emptied, keeps ? keptMs : ways.lateMs)) {
      left = null;
      return verified('composer', 'the composer held this text and emptied into a turn');
    }
    const out = await context.typing.run(async () => (ways.holds(composer(), text) ? takeOut() : ''));
    return unconfirmed(`Enter was pressed, but neither hook, transcript nor composer showed it${out}`);
  }

  return {
    async deliver(message) {
      const text = composePrompt(message);
      const written = await ways.transcript();
      pending = { text, submitted: false };
      try {
        const typed = await type(text, message.deliveryId);
        return typed === 'entered' ? await entered(text, written) : typed;
      } finally {
        pending = null;
      }
    },
    async resume(message) {
      // A bare text names no delivery: a person may have typed the same.
      if (message.raw) return null;
      const text = composePrompt(message);
      const written = await ways.transcript();
      pending = { text, submitted: false };
      try {
        const stands = () => ways.holds(composer(), text);
        await context.until(() => stands() || pending?.submitted === true, ways.witnessMs);
        if (pending.submitted) return verified('hook', hookReported);
        if (!stands()) return null;
        left = { text, deliveryId: message.deliveryId, stuck: false };
        await context.until(() => judge.state().state === 'idle', ways.lateMs);
        return (await enterAgain(text)) ? await entered(text, written) : null;
      } finally {
        pending = null;
      }
    },
    taken(prompt) {
      if (pending && containsText(prompt, pending.text)) pending.submitted = true;
    },
    obstacle,
    touched() {
      left = null;
    },
  };
}

function verified(evidence: 'hook' | 'transcript' | 'composer', detail: string): DeliverResult {
  return { state: 'verified', evidence, detail };
}

function unconfirmed(detail: string): DeliverResult {
  return { state: 'unconfirmed', evidence: null, detail };
}
