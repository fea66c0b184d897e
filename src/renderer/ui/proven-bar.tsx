/** How far something is, in words with a bar. Green only for what is proven: a step that its bot only reported done counts as done, too. */

/** Lines of a step: `proven 2 of 3`. */
export function ProvenBar({ proven, total }: { proven: number; total: number }) {
  return <CountBar words={`proven ${proven} of ${total}`} count={proven} total={total} colour="bg-proven" />;
}

/** Steps of a run or a campaign: `7 of 12 done`. */
export function DoneBar({ done, total, wide = false }: { done: number; total: number; wide?: boolean }) {
  return <CountBar words={`${done} of ${total} done`} count={done} total={total} colour="bg-muted" wide={wide} />;
}

function CountBar({
  words,
  count,
  total,
  colour,
  wide = false,
}: {
  words: string;
  count: number;
  total: number;
  colour: string;
  wide?: boolean;
}) {
  const share = total === 0 ? 0 : count / total;
  return (
    <span className="inline-flex items-center gap-2 whitespace-nowrap text-muted tabular-nums">
      {words}
      <span aria-hidden="true" className={`h-1.5 overflow-hidden rounded-full bg-line ${wide ? 'w-32' : 'w-12'}`}>
        <span className={`block h-full rounded-full ${colour}`} style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}
