/** One of a few, each with a word and what it means; and a tick, for yes or no. */
import type { ReactNode } from 'react';

interface ChoiceOf<K extends string> {
  readonly key: K;
  readonly word: string;
  readonly says: string;
  /** Why it cannot be chosen; said in place of what it means. */
  readonly not?: string | undefined;
}

export function Choice<K extends string>({
  legend,
  name,
  choices,
  value,
  onChange,
}: {
  legend: string;
  /** Of the group, once a form. */
  name: string;
  choices: readonly ChoiceOf<K>[];
  value: K;
  onChange: (key: K) => void;
}) {
  return (
    <fieldset>
      <legend className="pb-1 font-medium">{legend}</legend>
      {choices.map(({ key, word, says, not }) => (
        <label key={key} className="flex min-h-7 items-start gap-2 py-1 pointer-coarse:min-h-10 pointer-coarse:py-2.5">
          <input
            type="radio"
            name={name}
            checked={key === value}
            disabled={not !== undefined}
            onChange={() => onChange(key)}
            className="mt-[3px] size-3.5 shrink-0 accent-accent"
          />
          <span className="min-w-0">
            <span className={not === undefined ? '' : 'text-muted'}>{word}</span>{' '}
            <span className="text-meta text-muted">{not ?? says}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Whether or not, with its words behind the box. */
export function Check({
  on,
  onChange,
  className = '',
  children,
}: {
  on: boolean;
  onChange: (on: boolean) => void;
  className?: string;
  children: ReactNode;
}) {
  return (
    <label className={`flex items-center gap-1.5 ${className}`}>
      <input
        type="checkbox"
        checked={on}
        onChange={(event) => onChange(event.target.checked)}
        className="size-3.5 shrink-0 accent-accent"
      />
      {children}
    </label>
  );
}
