/**
 * The questions that Copilot asks now. Its transcript says what each is about and when it was answered, its screen shows the dialog, and keys answer
 * there. Its hooks run for every call, also for those it allows without a question. Owns which question stands; must not know who answers.
 */
import type { DriverContext } from '../adapter.ts';
import { createChannelQuestions } from '../channel-questions.ts';
import { readJsonLines } from '../json-lines.ts';
import { createPaneChoices, type PaneChoice } from '../pane-choice.ts';
import { transcriptOf } from '../prompt-witness.ts';
import { clean, squeeze } from '../wording.ts';
import { permissionChoice, permissionRule, trustRule, wantsWords } from './rules.ts';
import { type Asked, questionEvent } from './transcript.ts';

/** Its dialog is drawn before its transcript is written; a loaded computer takes longer. */
const writtenWithinMs = 10_000;
const lookEveryMs = 200;
/** How long an answer waits for its dialog: another question may stand before it. */
const comesUpMs = 30 * 60_000;
const answerMs = 8000;
/** Words that are pasted into a dialog are drawn within a frame. */
const wordsShownMs = 3000;
const maxNote = 500;
/** Enough of a text to know its dialog by; a long one is not shown whole. */
const telling = 60;

interface Questions {
  /** Something happened that its transcript may tell more of: a hook, another state. */
  look(): void;
  /** The screen was read. */
  looked(): void;
  exited(): void;
  ids(): readonly string[];
  close(): void;
}

export function createQuestions(context: DriverContext): Questions {
  const { judge, panes, paneId } = context;
  const away = new AbortController();
  /** Asked and not answered, by the transcript. */
  const asked = new Map<string, Asked>();
  let file: string | null = null;
  let offset = 0;
  let reading: Promise<void> | null = null;
  let again = false;
  let settled = false;
  let waits = false;

  const stands = () => judge.sees() === permissionRule;
  const choices = createPaneChoices(context, {
    stands,
    chosen: ({ bottom }) => permissionChoice(bottom),
    away: away.signal,
    before,
  });
  const questions = createChannelQuestions(context, { harness: 'copilot', reply: answer });
  let current: { readonly id: string; readonly note: string } | null = null;

  /** Whether the dialog that stands is about this question. */
  function shows({ id, shows: words }: Asked): boolean {
    if (!stands()) return false;
    const wanted = squeeze(words).slice(0, telling);
    if (wanted === '') return [...asked.keys()][0] === id;
    const rows = context.facts()?.bottom ?? [];
    const from = rows.findLastIndex((row) => /^╭─+╮$/u.test(row));
    const box = rows.slice(Math.max(0, from)).map((row) => row.replaceAll(/[│╭╮╰╯─]/gu, ' '));
    return squeeze(box.join('\n')).includes(wanted);
  }

  /** Nothing else may have been asked meanwhile, and a "No" says why. */
  async function before(wanted: PaneChoice): Promise<boolean> {
    await look();
    const question = current && asked.get(current.id);
    if (!current || !question || !shows(question)) return false;
    const needsWords = () => wantsWords(context.facts()?.bottom ?? []);
    if (wanted !== 'no' || !needsWords()) return true;
    const words = clean(current.note).replace(/\s+/gu, ' ').trim().slice(0, maxNote);
    await panes.write(paneId, `\x1b[200~${words}\x1b[201~`);
    return context.until(() => stands() && !needsWords(), wordsShownMs);
  }

  async function answer(
    id: string,
    { allow, note }: { readonly allow: boolean; readonly note: string },
  ): Promise<'taken' | 'gone'> {
    const open = () => asked.get(id);
    const comesUp = () => {
      const question = open();
      return question === undefined || shows(question);
    };
    if (!(await context.until(() => away.signal.aborted || comesUp(), comesUpMs)) || away.signal.aborted)
      throw new Error('its dialog did not come up');
    if (open() === undefined) return 'gone';
    const entered = await context.typing.run(async () => {
      current = { id, note };
      try {
        return await choices.enter(allow ? 'yes' : 'no');
      } finally {
        current = null;
      }
    });
    const end = context.clock.monotonic() + answerMs;
    while (open() !== undefined && context.clock.monotonic() < end) {
      await context.until(() => false, lookEveryMs);
      await look();
    }
    if (open() === undefined) return entered ? 'taken' : 'gone';
    throw new Error('its dialog did not take the answer; answer it in the pane');
  }

  async function read(): Promise<void> {
    const [now = null] = transcriptOf(context.recall());
    if (now !== file) {
      file = now;
      offset = 0;
      asked.clear();
    }
    if (file === null) return;
    const fresh: Asked[] = [];
    for (let more = true; more && !away.signal.aborted; ) {
      const page = await readJsonLines(file, offset, (line) => line.includes('"permission.'));
      for (const { entry } of page.lines) {
        const event = questionEvent(entry);
        if (event?.kind === 'over') {
          asked.delete(event.id);
          questions.answered(event.id);
        } else if (event !== null) {
          asked.set(event.question.id, event.question);
          fresh.push(event.question);
        }
      }
      more = page.more;
      offset = page.offset;
    }
    if (away.signal.aborted || !(settled || settle())) return;
    // What was asked and answered since the last look needs nobody.
    for (const question of fresh.filter(({ id }) => asked.has(id))) {
      judge.event('hook', 'asks', { words: question.words });
      questions.asked(question);
    }
    if (fresh.length > 0) context.poke();
  }

  /** Once its screen is known: what it asked before this runtime began stands there, or was asked by a program that is gone. */
  function settle(): boolean {
    if (context.facts() === null || judge.sees() === trustRule) return false;
    settled = true;
    if (!stands()) asked.clear();
    const open = [...asked.values()];
    for (const { words } of open) judge.event('hook', 'asks', { words });
    questions.settle(open);
    context.poke();
    return true;
  }

  function look(): Promise<void> {
    if (away.signal.aborted) return Promise.resolve();
    again = reading !== null;
    reading ??= (async () => {
      do {
        again = false;
        await read();
      } while (again);
    })()
      // A file that cannot be read now is read at the next look.
      .catch(() => undefined)
      .finally(() => {
        reading = null;
      });
    return reading;
  }

  /** A dialog stands and no question is known: it is about to be written. */
  async function waitForIt(): Promise<void> {
    if (waits) return;
    waits = true;
    const end = context.clock.monotonic() + writtenWithinMs;
    while (!away.signal.aborted && stands() && asked.size === 0 && context.clock.monotonic() < end) {
      await context.until(() => !stands(), lookEveryMs);
      await look();
    }
    waits = false;
  }

  return {
    look: () => void look(),
    looked() {
      // Of a turn without a question its screen says nothing that the transcript would add to.
      if (!settled || stands() || asked.size > 0) void look();
      if (stands() && asked.size === 0) void waitForIt();
    },
    exited() {
      questions.ended();
    },
    ids: questions.ids,
    close() {
      away.abort();
      questions.close();
    },
  };
}
