/** The diff of one bot of a run that was started from a prompt. */
import { DiffSheet } from './diff-sheet.tsx';
import type { QuickRow } from './quick-rows.ts';
import { useQuickDiff } from './quick-runs.ts';

export function QuickDiffSheet({
  row,
  ...shown
}: {
  row: QuickRow;
  title: string;
  onPane: (() => void) | undefined;
  onClose: () => void;
}) {
  return <DiffSheet {...shown} source={useQuickDiff(row.run.id, row.bot.name)} />;
}
