/** What becomes of the work of several runs: kept or discarded, after the server's own steps for each. What was discarded can be taken back. */
import { toast } from 'sonner';
import { forEach } from '../../base/for-each.ts';
import { useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { countWords } from '../../ui/count-words.ts';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { canBringBack, nothingBack, type QuickRow, titleOf } from '../floor/runs/quick-rows.ts';
import { useEndQuickRuns } from '../floor/runs/quick-runs.ts';

export function EndRunsDialog({
  rows,
  outcome,
  onDone,
  onClose,
}: {
  rows: readonly QuickRow[];
  outcome: 'kept' | 'discarded';
  /** Called once it was done with all that it could be done with. */
  onDone: () => void;
  onClose: () => void;
}) {
  const { api, computer } = useServices();
  const ending = useEndQuickRuns();
  const offerUndo = useOfferUndo();
  const many = countWords(rows.length, 'run');
  const verb = outcome === 'kept' ? 'Keep' : 'Discard';
  const end = (some: readonly QuickRow[], as: 'kept' | 'discarded') =>
    ending(async (one) => {
      const back: QuickRow[] = [];
      const done = await forEach(some, titleOf, async (row) => {
        if (canBringBack(await one(row.run.id, row.bot.name, as))) back.push(row);
      });
      return { done, back };
    });
  return (
    <PlanDialog
      title={`${verb} ${many}`}
      description="This is what will happen. Nothing has changed yet."
      planKey={[computer, 'end-runs', outcome, ...rows.map(({ key }) => key)]}
      readPlan={(signal) =>
        Promise.all(
          rows.map(async (row) => {
            const body = { bot: row.bot.name, outcome, dryRun: true };
            const answer = await api.factory.endQuickRun({ params: { id: row.run.id }, body }, { signal });
            if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
            return { row, steps: answer.plan.steps };
          }),
        )
      }
      label={() => `${verb} ${rows.length}`}
      busyLabel={outcome === 'kept' ? 'Keeping' : 'Discarding'}
      danger={outcome === 'discarded'}
      act={async () => {
        const { done, back } = await end(rows, outcome);
        onDone();
        if (done.length === 0) return;
        const words = `${outcome === 'kept' ? 'Kept' : 'Discarded'} the work of ${countWords(done.length, 'run')}`;
        if (outcome === 'kept') return void toast(words);
        if (back.length === 0) return void toast(words, { description: nothingBack });
        offerUndo(words, () => end(back, 'kept'));
      }}
      onClose={onClose}
      shown={(plans) => (
        <ul aria-label="Plan" className="flex flex-col gap-2">
          {plans.map(({ row, steps }) => (
            <li key={row.key}>
              <p className="font-medium break-words">{titleOf(row)}</p>
              <ul className="list-disc pl-5">
                {steps.map((step) => (
                  <li key={step} className="break-words">
                    {step}
                  </li>
                ))}
              </ul>
            </li>
          ))}
        </ul>
      )}
    />
  );
}
