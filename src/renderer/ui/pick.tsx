/** A small choice above what it changes. */
export function Pick({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string;
  onChange: (key: string) => void;
  /** Key and word of each. */
  children: readonly (readonly [string, string])[];
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="h-7 rounded-control border border-line bg-raised px-1 text-ink pointer-coarse:h-10"
    >
      {children.map(([key, word]) => (
        <option key={key} value={key}>
          {word}
        </option>
      ))}
    </select>
  );
}
