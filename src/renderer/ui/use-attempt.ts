/** A form's attempt: errors appear once the person tried to submit, and the first wrong field takes the focus. */
import { type RefObject, useCallback, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

export interface Attempt {
  readonly form: RefObject<HTMLFormElement | null>;
  readonly tried: boolean;
  /** Problems are shown from here on. */
  begin(): void;
  toFirstProblem(): void;
}

/** `mine`: the form, where its owner does more with it. */
export function useAttempt(mine?: Attempt['form']): Attempt {
  const own = useRef<HTMLFormElement>(null);
  const form = mine ?? own;
  const [tried, setTried] = useState(false);
  const begin = useCallback(() => flushSync(() => setTried(true)), []);
  const toFirstProblem = useCallback(
    () => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    [form],
  );
  return { form, tried, begin, toFirstProblem };
}
