/** On or off, at once. */
export function Switch({
  label,
  on,
  disabled = false,
  onChange,
}: {
  label: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-label={label}
      aria-checked={on}
      disabled={disabled}
      onClick={() => onChange(!on)}
      className="inline-flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-raised p-px transition-colors duration-[120ms] aria-checked:border-accent aria-checked:bg-accent disabled:opacity-60 pointer-coarse:h-7 pointer-coarse:w-12"
    >
      <span
        className={`aspect-square h-full rounded-full ${on ? 'ml-auto bg-on-accent' : 'bg-muted'}`}
        aria-hidden="true"
      />
    </button>
  );
}

/** Whether something is on at all, with the word beside it. */
export function EnabledSwitch({ on, disabled, onChange }: { on: boolean; disabled: boolean; onChange: () => void }) {
  return (
    <span className="inline-flex items-center gap-2 pl-1">
      <span aria-hidden="true" className="text-muted">
        Enabled
      </span>
      <Switch label="Enabled" on={on} disabled={disabled} onChange={onChange} />
    </span>
  );
}
