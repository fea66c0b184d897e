/** One of a few ways to show or to type something. */

export interface Way<K extends string> {
  readonly key: K;
  readonly word: string;
  readonly disabled?: boolean;
}

export function Ways<K extends string>({
  label,
  ways,
  value,
  onChange,
  start = false,
}: {
  label: string;
  ways: readonly Way<K>[];
  value: K;
  onChange: (key: K) => void;
  /** They stand at the beginning of their line, not at its end. */
  start?: boolean;
}) {
  return (
    <fieldset className={`${start ? '' : 'ml-auto'} flex gap-1 text-meta`}>
      <legend className="sr-only">{label}</legend>
      {ways.map(({ key, word, disabled = false }) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === value}
          disabled={disabled}
          onClick={() => key !== value && onChange(key)}
          className="h-6 rounded-control px-2 text-muted hover:text-ink aria-pressed:bg-selected aria-pressed:text-ink disabled:opacity-50 pointer-coarse:h-10"
        >
          {word}
        </button>
      ))}
    </fieldset>
  );
}
