/** How far long work is that has a known end. What the numbers are stands beside it in words. */
export function ProgressBar({ done, total, label }: { done: number; total: number; label: string }) {
  return (
    <progress
      aria-label={label}
      value={done}
      max={total}
      className="h-1.5 w-24 shrink-0 appearance-none overflow-hidden rounded-full bg-line [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-accent"
    />
  );
}
