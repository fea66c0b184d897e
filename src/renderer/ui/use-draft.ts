/**
 * What is typed in a dialog that makes or changes a thing with a name: what is wrong is said once saving was tried, a name that is taken
 * is said below the name, and one wish makes one thing however often it is sent. Must not know what the thing is.
 */
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { AppError } from '../../contracts/common/errors.ts';
import { type Act, useAct } from './use-act.ts';
import { type Attempt, useAttempt } from './use-attempt.ts';

type Problems<D> = { readonly [K in keyof D]?: string };
/** Fields that are typed as one text. */
type TextOf<D> = { [K in keyof D]: D[K] extends string ? K : never }[keyof D];

export interface Draft<D> {
  readonly draft: D;
  set(change: Partial<D>): void;
  /** Below their fields: nothing before saving was tried. */
  readonly problems: Problems<D>;
  readonly save: Act;
  readonly form: Attempt['form'];
  /** Of a field. */
  text(name: TextOf<D>): {
    readonly value: string;
    readonly problem: string | undefined;
    readonly spellCheck: boolean;
    onChange(value: string): void;
  };
}

export function useDraft<D extends { readonly name: string }, T, B extends object, C extends object>({
  thing,
  draftOf,
  problemsOf,
  make,
  change,
  onDone,
}: {
  /** Null: a new one. */
  thing: T | null;
  draftOf: (thing: T | null) => D;
  problemsOf: (draft: D, thing: T | null) => Problems<D>;
  make: { bodyOf: (draft: D) => B; send: (body: B, options: { readonly idempotencyKey: string }) => Promise<T> };
  /** Only what differs is in the body; where nothing does, nothing is sent. */
  change: { bodyOf: (draft: D, thing: T) => C; send: (body: C, thing: T) => Promise<T> };
  onDone: (thing: T) => void;
}): Draft<D> {
  const [draft, setDraft] = useState(() => draftOf(thing));
  const { tried, form, begin, toFirstProblem } = useAttempt();
  /** A name that was refused, and why. */
  const [taken, setTaken] = useState<{ readonly name: string; readonly why: string } | null>(null);
  /** One key for one wish: pressed again after a cut, it is the same thing. */
  const wish = useRef({ text: '', key: '' });
  const wrong = problemsOf(draft, thing);
  const shown: Problems<D> = tried ? wrong : {};
  const problems = taken?.name === draft.name.trim() ? { ...shown, name: taken.why } : shown;
  const set = (part: Partial<D>) => setDraft((old) => ({ ...old, ...part }));

  const save = useAct(async () => {
    begin();
    if (Object.keys(wrong).length > 0) return toFirstProblem();
    try {
      onDone(await send());
    } catch (error) {
      if (!(error instanceof AppError) || error.options.status !== 409) throw error;
      flushSync(() => setTaken({ name: draft.name.trim(), why: error.fact }));
      toFirstProblem();
    }
  });

  async function send(): Promise<T> {
    if (thing !== null) {
      const changes = change.bodyOf(draft, thing);
      return Object.keys(changes).length === 0 ? thing : change.send(changes, thing);
    }
    const body = make.bodyOf(draft);
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    return make.send(body, { idempotencyKey: wish.current.key });
  }

  return {
    draft,
    set,
    problems,
    save,
    form,
    text: (name) => ({
      value: draft[name] as string,
      problem: problems[name],
      spellCheck: false,
      onChange: (value) => set({ [name]: value } as unknown as Partial<D>),
    }),
  };
}
