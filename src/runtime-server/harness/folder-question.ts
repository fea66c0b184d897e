/**
 * A program's own question whether it may work in its folder, as an approval. No hook reports it, so the screen is read, and a person's answer is
 * chosen there by keys: the cursor is seen on it before Enter is pressed. Without a person's answer no key is pressed. Must not know a harness.
 */
import { actionHash } from '../../kit/signing/action-hash.ts';
import type { PaneFacts } from '../panes/pane-engine.ts';
import type { DriverContext } from './adapter.ts';
import { createApprovalQuestions, cuttable, type End, wordsOf } from './approval-question.ts';
import { createPaneChoices, lostMs, type PaneChoice } from './pane-choice.ts';

export type FolderChoice = PaneChoice;

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

export function createFolderQuestion(context: DriverContext, ways: FolderWays): FolderQuestion {
  const { bot, judge, panes, paneId } = context;
  const approvals = createApprovalQuestions(context, ways.harness);
  const away = new AbortController();
  const call = `trust:${bot.cwd}`;
  let open: Open | null = null;
  /** One that has ended without an effect is not asked again while the screen is the same. */
  let over = false;

  const stands = () => judge.state().state === 'needs_you' && judge.sees() === ways.rule;
  const choices = createPaneChoices(context, { stands, chosen: ways.chosen, away: away.signal });

  /** Chooses the person's answer, and says whether the question went. After Enter no key is pressed: it would answer the next dialog. */
  async function choose(wanted: 'yes' | 'no'): Promise<boolean> {
    if (wanted === 'no' && !ways.noEnds) {
      await panes.kill(paneId);
      return true;
    }
    return (await context.typing.run(() => choices.enter(wanted))) && (await choices.gone(lostMs));
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
    over = choices.entered || !taken;
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
      over = choices.entered;
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
