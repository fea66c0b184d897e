/**
 * What a bot was last seen to do, and what it does again and again. Output, hooks and tool calls are activity; spinners, clocks and a screen that was
 * there a moment ago are not. Must not know a harness or what the bot works on.
 */
import { createHash } from 'node:crypto';
import type { LeaseRenewal } from '../../contracts/factory/node-lease.ts';
import type { Clock } from '../../kit/clock/clock.ts';

export interface Activity {
  /** Monotonic milliseconds; null: nothing yet. */
  readonly at: number | null;
  /** What it was. */
  readonly by: LeaseRenewal;
  /** What came back most often since something new came; null: everything was new. */
  readonly sameCall: Repeated | null;
  readonly sameScreen: Repeated | null;
}

export interface Repeated {
  readonly what: string;
  readonly times: number;
}

/** The activity of one bot. */
export interface BotActivity {
  now(): Activity;
  /** It called a tool of Gantry's. */
  called(tool: string, input: unknown): void;
  /** Repetitions count from now on. */
  forget(): void;
}

/** The bot's own side. */
interface ActivityRecorder extends BotActivity {
  note(by: LeaseRenewal): void;
  /** The bottom rows of its screen. */
  screen(bottom: readonly string[]): void;
}

/** A program at full speed changes its screen thirty times a second; once is enough. */
const lookEveryMs = 1000;
/** A loop is a few calls or screens in turn. */
const maxKept = 16;

export function createActivity(clock: Pick<Clock, 'monotonic'>): ActivityRecorder {
  let at: number | null = null;
  let by: LeaseRenewal = 'output';
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** A screen that came too soon after the last look. */
  let unseen: { readonly bottom: readonly string[]; readonly at: number } | null = null;
  const calls = createRepeats();
  const screens = createRepeats();
  let shown: string | null = null;

  function look(bottom: readonly string[], seenAt: number): void {
    lookedAt = seenAt;
    unseen = null;
    const text = quiet(bottom);
    if (text === shown) return;
    const isFirst = shown === null;
    shown = text;
    // The screen on which a bot is taken up says nothing of when it was drawn.
    if (!screens.take(text, 'The same screen') || isFirst) return;
    at = seenAt;
    by = 'output';
  }

  return {
    note(what) {
      at = clock.monotonic();
      by = what;
    },
    called(tool, input) {
      at = clock.monotonic();
      by = 'tool';
      const key = createHash('sha256')
        .update(`${tool}\0${JSON.stringify(input)}`)
        .digest('base64');
      calls.take(key, `The same call of ${tool.slice(0, 100)}`);
    },
    screen(bottom) {
      const now = clock.monotonic();
      if (now - lookedAt < lookEveryMs) unseen = { bottom, at: now };
      else look(bottom, now);
    },
    now() {
      if (unseen !== null) look(unseen.bottom, unseen.at);
      return { at, by, sameCall: calls.most(), sameScreen: screens.most() };
    },
    forget() {
      calls.clear();
      screens.clear();
    },
  };
}

function createRepeats() {
  const seen = new Map<string, { readonly what: string; times: number }>();
  return {
    /** Whether it is new. What is new ends every repetition. */
    take(key: string, what: string): boolean {
      const known = seen.get(key);
      if (known !== undefined) {
        known.times += 1;
        return false;
      }
      for (const one of seen.values()) one.times = 1;
      seen.set(key, { what, times: 1 });
      if (seen.size > maxKept) seen.delete(seen.keys().next().value as string);
      return true;
    },
    most(): Repeated | null {
      let most: Repeated | null = null;
      for (const one of seen.values()) if (one.times > (most?.times ?? 1)) most = one;
      return most === null ? null : { ...most };
    },
    clear: () => seen.clear(),
  };
}

/** A row that an agent program animates, with words that change as well: "✻ Pondering… (12s)". */
const spinnerRow = /^\s*[·✢✳✶✻✽◐◓◑◒⠀-⣿]\s/u;
/** Times, sizes and counts. */
const counted = /\d+(?:[.,:]\d+)*\s?(?:ms|sec|min|hr|kB|MB|GB|[KMG]iB|B|[smhdk])?(?!\p{L})/gu;

/** What is left of a screen without all that moves although nothing happens. */
export function quiet(bottom: readonly string[]): string {
  return bottom
    .filter((row) => !spinnerRow.test(row))
    .map((row) =>
      row
        .replace(counted, ' ')
        .replace(/[^\p{L}]+/gu, ' ')
        .trim(),
    )
    .filter((row) => row !== '')
    .join('\n');
}
