/**
 * Chooses an answer in a dialog that a program draws, by keys: the cursor is seen on the choice before Enter is pressed, once. Must not know a harness,
 * nor who decided.
 */
import type { PaneFacts } from '../panes/pane-engine.ts';
import type { DriverContext } from './adapter.ts';
import { keyBytes } from './keys.ts';

/** `other`: a choice that no answer means, which the cursor passes; of several, each with something that tells it from the next. */
export type PaneChoice = 'yes' | 'no' | `other${string}`;

interface PaneChoiceWays {
  /** Whether the dialog stands now. */
  stands(): boolean;
  /** The choice that the cursor is on; null where none can be read. */
  chosen(facts: PaneFacts): PaneChoice | null;
  /** Aborted once Gantry releases the bot. */
  readonly away: AbortSignal;
  /** With the cursor on the choice, before Enter: what else the dialog wants. False: Enter must not be pressed. */
  readonly before?: (wanted: PaneChoice) => Promise<boolean>;
}

interface PaneChoices {
  /** Holds the keyboard of its bot only if the caller does. False: the screen does not let it. True: Enter was pressed, or the dialog went. */
  enter(wanted: PaneChoice): Promise<boolean>;
  /** Whether the dialog goes within `ms`: another state is decided, or it stays away. Unseen for a frame, it is only drawn again. */
  gone(ms: number): Promise<boolean>;
  /** Enter was pressed. It may still wait in the terminal, so that whatever comes is answered in the pane. */
  readonly entered: boolean;
}

/**
 * How long a screen must not have changed before a key counts as lost. A program that has just drawn its screen loses keys; in one that is only slow
 * the key waits, and a second one would answer what it draws next.
 */
export const lostMs = 5000;
const maxDowns = 3;
/** A screen that always changes must not hold up the person's keys. */
const chooseMs = 30_000;
/** A program that draws its screen again hides it for a moment. */
const redrawnMs = 1000;

export function createPaneChoices(context: DriverContext, ways: PaneChoiceWays): PaneChoices {
  const { clock, judge, panes, paneId } = context;
  const { stands, away } = ways;
  let entered = false;

  const chosen = (): PaneChoice | null => {
    const facts = context.facts();
    return facts === null ? null : ways.chosen(facts);
  };

  async function gone(ms: number): Promise<boolean> {
    const end = clock.monotonic() + ms;
    const past = () => judge.state().state !== 'needs_you';
    while (await context.until(() => !stands(), Math.max(0, end - clock.monotonic()))) {
      await context.until(() => stands() || past(), redrawnMs);
      if (!stands()) return true;
    }
    return false;
  }

  /** Whether the question stands and nothing of its screen changes for `ms`. */
  async function still(ms: number): Promise<boolean> {
    const shown = () => context.facts()?.bottom.join('\n');
    const before = shown();
    return !(await context.until(() => away.aborted || !stands() || shown() !== before, ms));
  }

  return {
    get entered() {
      return entered;
    },
    gone,
    async enter(wanted) {
      const end = clock.monotonic() + chooseMs;
      let pressedOn: PaneChoice | null = null;
      let downs = 0;
      let repeated = false;
      while (clock.monotonic() < end) {
        if (await gone(0)) return true;
        if (away.aborted) return false;
        const on = chosen();
        if (on === wanted) {
          // A Down that was pressed again may not have been lost but late: it would move the cursor under the Enter.
          if (repeated && !(await still(lostMs))) continue;
          if (ways.before && !(await ways.before(wanted))) return false;
          entered = true;
          await panes.write(paneId, '\r');
          return true;
        }
        if ((on === null || on === pressedOn) && !(await still(lostMs))) continue;
        if (on === null || downs === maxDowns) return false;
        repeated ||= on === pressedOn;
        await panes.write(paneId, keyBytes('Down', context.facts()?.applicationCursor));
        pressedOn = on;
        downs += 1;
      }
      return false;
    },
  };
}
