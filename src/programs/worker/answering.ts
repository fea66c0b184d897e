/** Whether what runs a worker's tasks answers: asked now, and again at every interval. The worker hears once of each change. Must not know what is asked. */
import { setTimeout as delay } from 'node:timers/promises';

interface Answering {
  /** Whether it answered the last time. */
  answers(): boolean;
  close(): void;
}

/** Asks once before it resolves, so that the worker's first lease call is true. */
export async function keepAsking({
  ask,
  whyNot,
  again,
  everyMs,
  note,
}: {
  /** Rejects if there is no answer. `answered`: there was one the last time. */
  readonly ask: (answered: boolean) => Promise<void>;
  /** In a sentence. */
  readonly whyNot: (fault: unknown) => string;
  /** What to say once there is an answer after a silence. */
  readonly again: string;
  readonly everyMs: number;
  /** Sentences for the person who looks at the worker. */
  readonly note: (words: string) => void;
}): Promise<Answering> {
  let answers = false;
  let closed = false;
  let said = '';

  async function look(): Promise<void> {
    try {
      await ask(answers);
      answers = true;
      if (said !== '') note(again);
      said = '';
    } catch (fault) {
      answers = false;
      const why = whyNot(fault);
      if (why !== said) note(`${why} This worker takes no task with an image meanwhile.`);
      said = why;
    }
  }

  async function watch(): Promise<void> {
    while (!closed) {
      await delay(everyMs, undefined, { ref: false });
      if (!closed) await look();
    }
  }

  await look();
  void watch();
  return {
    answers: () => answers,
    close() {
      closed = true;
    },
  };
}
