/**
 * A program's own question whether it may work in its folder, as an approval. No hook reports it, so the screen is read, and a person's answer is
 * chosen there by keys: the cursor is seen on it before Enter is pressed. Without a person's answer no key is pressed. Must not know a harness.
 */
import { actionHash } from '../../kit/signing/action-hash.ts';
import type { PaneFacts } from '../panes/pane-engine.ts';
import type { DriverContext } from './adapter.ts';
import { createApprovalQuestions, cuttable, type End, wordsOf } from './approval-question.ts';
import { keyBytes } from './keys.ts';

/** `other`: a choice that no answer means, which the cursor passes. */
export type FolderChoice = 'yes' | 'no' | 'other';

interface Open {
  readonly cut: (end: End) => void;
  id: string | null;
  /** A person's answer is on its way into the pane, and what the screen shows meanwhile is its effect. */
  answering: boolean;
}

interface FolderWays {
  readonly harness: string;
  /** As a person knows it: `Claude Code`. */
  readonly program: string;
  /** The rule that knows this screen. */
  readonly rule: string;
  /** The choice that the cursor is on; null where none can be read. */
  chosen(facts: PaneFacts): FolderChoice | null;
  /** Whether its "no" ends it; otherwise Gantry ends it for a person who does not trust the folder, and presses no key. */
  readonly noEnds: boolean;
}

interface FolderQuestion {
  /** The screen or the state changed. */
  looked(): void;
  exited(): void;
  ids(): readonly string[];
  /** Releases the question: its approval stays, and the next runtime joins it. */
  close(): void;
}

/** The screen itself stays as long as nobody answers. */
const expiresInMs = 24 * 60 * 60_000;
/**
 * How long a screen must not have changed before a key counts as lost. A program that has just drawn its screen loses keys; in one that is only slow
 * the key waits, and a second one would answer what it draws next.
 */
const lostMs = 5000;
const maxDowns = 3;
/** A screen that always changes must not hold up the person's keys. */
const chooseMs = 30_000;
/** A program that draws its screen again hides it for a moment. */
const redrawnMs = 1000;

export function createFolderQuestion(context: DriverContext, ways: FolderWays): FolderQuestion {
  const { bot, clock, judge, panes, paneId } = context;
  const approvals = createApprovalQuestions(context, ways.harness);
  const away = new AbortController();
  const call = `trust:${bot.cwd}`;
  let open: Open | null = null;
  /** One that has ended without an effect is not asked again while the screen is the same. */
  let over = false;
  /** Enter was pressed. It may still wait in the terminal, so that whatever comes is answered in the pane. */
  let entered = false;

  const stands = () => judge.state().state === 'needs_you' && judge.sees() === ways.rule;
  const chosen = (): FolderChoice | null => {
    const facts = context.facts();
    return facts === null ? null : ways.chosen(facts);
  };

  /** Whether the question goes within `ms`: another state is decided, or its screen stays away. Unseen for a frame, it is only drawn again. */
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
    return !(await context.until(() => away.signal.aborted || !stands() || shown() !== before, ms));
  }

  /** Moves the cursor to the choice that is wanted, sees it there and presses Enter, once. False: the screen does not let it. */
  async function enter(wanted: FolderChoice): Promise<boolean> {
    const end = clock.monotonic() + chooseMs;
    let pressedOn: FolderChoice | null = null;
    let downs = 0;
    while (clock.monotonic() < end) {
      if (await gone(0)) return true;
      if (away.signal.aborted) return false;
      const on = chosen();
      if (on === wanted) {
        // Of two Downs one may not be lost but late: it would move the cursor under the Enter.
        if (downs > 1 && !(await still(lostMs))) continue;
        entered = true;
        await panes.write(paneId, '\r');
        return true;
      }
      if ((on === null || on === pressedOn) && !(await still(lostMs))) continue;
      if (on === null || downs === maxDowns) return false;
      await panes.write(paneId, keyBytes('Down', context.facts()?.applicationCursor));
      pressedOn = on;
      downs += 1;
    }
    return false;
  }

  /** Chooses the person's answer, and says whether the question went. After Enter no key is pressed: it would answer the next dialog. */
  async function choose(wanted: 'yes' | 'no'): Promise<boolean> {
    if (wanted === 'no' && !ways.noEnds) {
      await panes.kill(paneId);
      return true;
    }
    return (await context.typing.run(() => enter(wanted))) && (await gone(lostMs));
  }

  async function put(entry: Open, ended: Promise<End>): Promise<void> {
    const answer = await approvals.ask(askOf(context, ways), {
      away: away.signal,
      ended,
      onAsked(id) {
        entry.id = id;
        context.remember({ asking: [{ call, id }] });
      },
    });
    if (away.signal.aborted || answer === 'released' || answer.kind === 'withdrawn') return;
    if (answer.kind === 'expired') {
      over = true;
      return;
    }
    entry.answering = true;
    const taken = await choose(answer.kind === 'approve' ? 'yes' : 'no');
    over = entered || !taken;
    if (!taken) approvals.note('its screen did not take the answer; answer it in the pane');
  }

  function begin(): void {
    const { ended, cut } = cuttable();
    const entry: Open = { cut, id: null, answering: false };
    open = entry;
    put(entry, ended)
      .catch((fault: unknown) => {
        over = true;
        if (!away.signal.aborted) approvals.note(`not asked as an approval: ${wordsOf(fault)}`);
      })
      .finally(() => {
        open = null;
        if (away.signal.aborted) return;
        context.remember({ asking: [] });
        context.poke();
      });
  }

  return {
    looked() {
      if (away.signal.aborted) return;
      if (stands()) {
        if (open === null && !over) begin();
        return;
      }
      // A screen that is being drawn again is no answer: only a decided state is.
      if (judge.sees() === ways.rule || judge.sees() === null) return;
      over = entered;
      if (open?.answering === false) open.cut({ kind: 'withdrawn', surface: 'pane' });
    },
    exited() {
      if (open?.answering === false) open.cut({ kind: 'withdrawn', surface: 'engine' });
    },
    ids: () => (open?.id == null ? [] : [open.id]),
    close() {
      away.abort();
      open?.cut('released');
    },
  };
}

function askOf({ bot }: DriverContext, { harness, program }: FolderWays) {
  const { agentId, slug, team, cwd } = bot;
  const means = `If you trust it, ${program} starts: it can read, change and run files there, and takes up settings that the folder brings for it, such as hooks and tool servers. It still asks before it runs a command. Exit ends ${program}, and a step that waits for it fails.`;
  return {
    source: 'harness' as const,
    kind: 'trust_folder' as const,
    title: `${slug}@${team} asks to trust its folder`,
    summary: cwd,
    details: [{ name: 'What it means', text: means }],
    risk: 'medium' as const,
    agentId,
    actionHash: actionHash({ trust: cwd, harness }),
    expiresInMs,
    dedupeKey: `${harness}:${agentId}:trust:${cwd}`,
  };
}
