/**
 * How a message is put into a composer that takes pastes, and what proves that it arrived (tui.md 5.1): one framed write, Enter as a
 * write of its own once the composer shows the text, then a witness: the submit hook, else the transcript, else the composer.
 * What differs from harness to harness is given; must not know a harness.
 */
import type { PaneFacts } from '../../panes/pane-engine.ts';
import type { DriverContext } from './adapter.ts';
import type { DeliverResult, Outgoing } from './harness.ts';
import type { PromptsSince } from './prompt-witness.ts';
import { composePrompt, containsText, normalise } from './wording.ts';

export type Composer = { readonly kind: 'closed' | 'empty' } | { readonly kind: 'text'; readonly text: string };

export interface PasteWays {
  composer(facts: PaneFacts): Composer;
  /** Whether the composer holds exactly this text, or what it collapses to. */
  holds(composer: Composer, text: string): boolean;
  /** Asked before the first byte is typed. */
  transcript(): Promise<PromptsSince>;
  /** How long the text must have stood in the composer before Enter is heeded; default: not at all. */
  settleMs?(text: string): number;
  /** While it starts it shows a composer and loses what is put into it: then the message is held and tried again. */
  readonly losesEarly?: boolean;
  /** Until the composer shows a paste. */
  readonly shownMs: number;
  /** For hook and transcript after each Enter. */
  readonly witnessMs: number;
  /** How much longer a turn is waited for that the composer testifies to. */
  readonly lateMs: number;
}

export interface PasteDelivery {
  deliver(message: Outgoing): Promise<DeliverResult>;
  /** A hook says that this prompt was taken. */
  taken(prompt: string): void;
  /** `draft`, a closed composer. null: nothing is in the way. */
  obstacle(): string | null;
}

const transcriptEveryMs = 150;

/** Whether a composer's text is ours, however it wrapped it: blanks do not count. */
export function sameText(shown: string, ours: string): boolean {
  return squeeze(shown) === squeeze(ours);
}

export function squeeze(text: string): string {
  return normalise(text).replaceAll(' ', '');
}

export function createPasteDelivery(context: DriverContext, ways: PasteWays): PasteDelivery {
  const { judge, panes, paneId } = context;
  /** The message on its way, while it waits for its witness. */
  let pending: { readonly text: string; submitted: boolean } | null = null;

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

  async function type(text: string): Promise<DeliverResult | 'entered'> {
    return context.typing.run(async () => {
      const gate = context.gate();
      if (!gate.open) return { state: 'held', why: gate.why };
      await panes.write(paneId, `\x1b[200~${text}\x1b[201~`);
      const shows = () => ways.holds(composer(), text);
      const shown = await context.until(shows, ways.shownMs);
      if (shown) await context.until(() => false, ways.settleMs?.(text) ?? 0);
      if (!shown || !shows()) {
        // A dialog that came up in between drops a paste; Enter would answer the dialog.
        const { kind } = composer();
        if (kind === 'closed') return { state: 'held', why: 'a dialog opened' };
        if (kind === 'empty' && ways.losesEarly === true)
          return { state: 'held', why: 'the composer did not take the text' };
        return unconfirmed('the composer did not show the text; Enter was not pressed');
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

  return {
    async deliver(message) {
      const text = composePrompt(message);
      const written = await ways.transcript();
      pending = { text, submitted: false };
      try {
        const typed = await type(text);
        if (typed !== 'entered') return typed;
        let seen = await witness(text, written);
        if (!seen && (await enterAgain(text))) seen = await witness(text, written);
        if (seen === 'hook') return verified('hook', 'its submit hook reported this text');
        if (seen) return verified('transcript', 'its transcript holds this text');
        // The composer held exactly our text before Enter; emptied into a turn, it was taken.
        const emptied = () => composer().kind === 'empty' && judge.state().state === 'working';
        if (await context.until(emptied, ways.lateMs)) {
          return verified('composer', 'the composer held this text and emptied into a turn');
        }
        return unconfirmed('Enter was pressed, but neither hook, transcript nor composer showed it');
      } finally {
        pending = null;
      }
    },
    taken(prompt) {
      if (pending && containsText(prompt, pending.text)) pending.submitted = true;
    },
    obstacle() {
      if (!context.facts()?.bracketedPaste) return 'the composer does not take pastes';
      const { kind } = composer();
      return kind === 'empty' ? null : kind === 'text' ? 'draft' : 'the composer is not shown';
    },
  };
}

function verified(evidence: 'hook' | 'transcript' | 'composer', detail: string): DeliverResult {
  return { state: 'verified', evidence, detail };
}

function unconfirmed(detail: string): DeliverResult {
  return { state: 'unconfirmed', evidence: null, detail };
}
