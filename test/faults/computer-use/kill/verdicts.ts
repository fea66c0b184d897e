/** What the page saw and what callers were told, held against the audit: no click without its row, none twice, none told wrongly. Pure. */

export interface AuditedClick {
  /** Of its run or its turn, as the page is called. */
  readonly run: string;
  readonly button: number;
  readonly outcome: string;
}

/** `clicks`: by `<run> <button>`, how often the page saw it. */
export function clickProblems(clicks: ReadonlyMap<string, number>, audit: readonly AuditedClick[]): string[] {
  const rowsOf = new Map<string, AuditedClick[]>();
  for (const row of audit) {
    const name = `${row.run} ${row.button}`;
    rowsOf.set(name, [...(rowsOf.get(name) ?? []), row]);
  }
  const seen = [...clicks].flatMap(([name, times]) => [
    ...(times > 1 ? [`${name} was clicked ${times} times`] : []),
    ...(rowsOf.has(name) ? [] : [`${name} was clicked without a row in the audit`]),
  ]);
  const doubled = [...rowsOf].flatMap(([name, rows]) =>
    rows.length > 1 ? [`${name} has ${rows.length} rows of actions in the audit`] : [],
  );
  const open = audit.flatMap(({ run, button, outcome }) =>
    outcome === 'started' ? [`${run} ${button} is still called started after a restart`] : [],
  );
  const unseen = [...rowsOf].flatMap(([name, rows]) =>
    rows.some(({ outcome }) => outcome === 'done') && !clicks.has(name)
      ? [`${name} counts as done, and was not clicked`]
      : [],
  );
  return [...seen, ...doubled, ...open, ...unseen];
}

/** `told`: `<run> <button>` of clicks of which it was said that they were done. After a restart that is still so. */
export function toldProblems(told: Iterable<string>, audit: readonly AuditedClick[]): string[] {
  const outcomes = new Map(audit.map(({ run, button, outcome }) => [`${run} ${button}`, outcome]));
  return [...told].flatMap((name) => {
    const outcome = outcomes.get(name) ?? 'in no row';
    return outcome === 'done' ? [] : [`${name} was told as done, and is ${outcome} after a restart`];
  });
}
