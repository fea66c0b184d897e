/** How much is proven: `proven 7 of 12` with its bar. Green only for what is proven. */
export function ProvenBar({ proven, total, wide = false }: { proven: number; total: number; wide?: boolean }) {
  const share = total === 0 ? 0 : proven / total;
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap text-muted tabular-nums">
      proven {proven} of {total}
      <span aria-hidden="true" className={`h-1.5 overflow-hidden rounded-full bg-line ${wide ? 'w-32' : 'w-12'}`}>
        <span className="block h-full rounded-full bg-proven" style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}
