/** The diff of one bot of a run that was started from a prompt. */

import type { QuickRow } from '../floor/runs/quick-rows.ts';
import { useQuickDiff } from '../floor/runs/quick-runs.ts';
import { DiffSheet } from './diff-sheet.tsx';

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
