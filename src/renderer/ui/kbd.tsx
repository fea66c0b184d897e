/** Keycaps: `Ctrl K` becomes two caps. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className="inline-flex gap-0.5">
      {keys.split(' ').map((key) => (
        <kbd
          key={key}
          className="inline-flex h-[18px] min-w-[18px] items-center justify-center rounded-[4px] border border-line bg-raised px-1 font-sans text-meta text-muted"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}
