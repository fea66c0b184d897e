/**
 * Questions of a hosted computer: its API user answers, through the route that only the cloud API can call. In memory: questions left when the
 * computer ends are asked again. Must not know who may answer.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { Answer, Questions } from './questions.ts';

export interface OwnQuestions extends Questions {
  /** `gone`: no caller waits for it any more, nothing was done. */
  answer(
    id: string,
    answer: { readonly state: 'approved' | 'denied'; readonly by: string },
  ): Promise<'applied' | 'gone'>;
}

interface Waiting {
  readonly key: string;
  readonly applies: ((tx: Tx, answer: Answer) => void)[];
  readonly answered: Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly cancel: () => void;
}

export function createOwnQuestions({ store, ids, timers }: { store: Store; ids: Ids; timers: Timers }): OwnQuestions {
  const waiting = new Map<string, Waiting>();

  function end(id: string, answer: Answer): void {
    const one = waiting.get(id);
    waiting.delete(id);
    one?.cancel();
    one?.resolve(answer);
  }

  return {
    async ask(question, apply) {
      const [id, joined] = [...waiting].find(([, one]) => one.key === question.key) ?? [ids.next('apr'), null];
      if (joined !== null) {
        joined.applies.push(apply);
        return { id, answer: joined.answered };
      }
      const { promise, resolve } = Promise.withResolvers<Answer>();
      const cancel = timers.after(question.expiresInMs, () => end(id, { state: 'expired', by: null }));
      waiting.set(id, { key: question.key, applies: [apply], answered: promise, resolve, cancel });
      return { id, answer: promise };
    },
    async withdraw(id) {
      end(id, { state: 'expired', by: null });
    },
    async answer(id, answer) {
      const one = waiting.get(id);
      if (one === undefined) return 'gone';
      waiting.delete(id);
      try {
        await store.write((tx) => {
          for (const apply of one.applies) apply(tx, answer);
        });
      } catch (error) {
        waiting.set(id, one);
        throw error;
      }
      one.cancel();
      one.resolve(answer);
      return 'applied';
    },
  };
}
