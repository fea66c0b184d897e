/** What becomes of a bot's work: merged, kept or discarded. The server's own steps first, then the act; what was discarded can be taken back. */
import { useState } from 'react';
import { toast } from 'sonner';
import type { QuickOutcome } from '../../../../contracts/factory/quick-run-routes.ts';
import { useServices } from '../../../base/services.tsx';
import { useOfferUndo } from '../../../base/undo.ts';
import { Check, Choice } from '../../../ui/choice.tsx';
import { PlanDialog } from '../../../ui/plan-dialog.tsx';
import { AskToResolve } from './ask-to-resolve.tsx';
import { canBringBack, nothingBack, type QuickRow, siblingsOf, whoOf } from './quick-rows.ts';
import { useEndQuickRuns } from './quick-runs.ts';

const choices = [
  { key: 'merged', word: 'Merge', says: 'Its branch is merged into the branch that the run started from.' },
  { key: 'kept', word: 'Keep', says: 'Its branch stays as it is.' },
  { key: 'discarded', word: 'Discard', says: 'Its worktree and branch are removed.' },
] as const;
const verbs = { merged: 'Merge', kept: 'Keep', discarded: 'Discard' } as const;
const doing = { merged: 'Merging', kept: 'Keeping', discarded: 'Discarding' } as const;

export function EndRunDialog({
  row,
  title,
  first,
  onClose,
}: {
  row: QuickRow;
  title: string;
  first: QuickOutcome;
  onClose: () => void;
}) {
  const { api, computer } = useServices();
  const ending = useEndQuickRuns();
  const offerUndo = useOfferUndo();
  const [outcome, setOutcome] = useState(first);
  const others = siblingsOf(row);
  const [alone, setAlone] = useState(others.length > 0);
  const params = { id: row.run.id };
  const wanted: readonly { bot: string; who: string; outcome: QuickOutcome }[] = [
    { bot: row.bot.name, who: row.who, outcome },
    ...(alone && outcome !== 'discarded'
      ? others.map((one) => ({ bot: one.name, who: whoOf(one), outcome: 'discarded' as const }))
      : []),
  ];
  /** Answers the bots whose discarded work can be brought back. */
  const end = (some: readonly { bot: string; outcome: QuickOutcome }[]) =>
    ending(async (one) => {
      const back: string[] = [];
      for (const { bot, outcome: its } of some) if (canBringBack(await one(row.run.id, bot, its))) back.push(bot);
      return back;
    });
  const discarded = wanted.filter((one) => one.outcome === 'discarded');
  return (
    <PlanDialog
      title={`${verbs[outcome]}: ${title}`}
      description="This is what will happen. Nothing has changed yet."
      // What a bot at work refuses is possible once it is idle. A discard stops it, which is no reason to ask again.
      planKey={[computer, 'end-run', row.key, outcome, alone, outcome !== 'discarded' && row.bot.state]}
      readPlan={(signal) =>
        Promise.all(
          wanted.map(async (one) => {
            const body = { bot: one.bot, outcome: one.outcome, dryRun: true };
            const answer = await api.factory.endQuickRun({ params, body }, { signal });
            if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
            return { ...one, steps: answer.plan.steps };
          }),
        )
      }
      label={() => (discarded.length > 0 && outcome !== 'discarded' ? `${verbs[outcome]} and discard` : verbs[outcome])}
      busyLabel={doing[outcome]}
      danger={discarded.length > 0}
      act={async () => {
        const back = await end(wanted);
        if (discarded.length === 0)
          return void toast(`${choices.find(({ key }) => key === outcome)?.word}: ${title}. Done.`);
        const words = `Discarded the work of ${discarded.map(({ who }) => who).join(', ')}`;
        if (back.length === 0) return void toast(words, { description: nothingBack });
        offerUndo(words, () => end(back.map((bot) => ({ bot, outcome: 'kept' }))));
      }}
      onClose={onClose}
      mend={(error) => <AskToResolve error={error} bot={row.bot.address} name={row.bot.name} onSent={onClose} />}
      fields={
        <>
          <Choice legend="Outcome" name="outcome" choices={choices} value={outcome} onChange={setOutcome} />
          {others.length > 0 && outcome !== 'discarded' && (
            <Check on={alone} onChange={setAlone}>
              Discard the other {others.length === 1 ? 'one' : others.length}: {others.map(whoOf).join(', ')}
            </Check>
          )}
        </>
      }
      shown={(plan) => (
        <ul aria-label="Plan" className="flex list-disc flex-col gap-1 pl-5">
          {plan.flatMap(({ bot, who, steps }) =>
            steps.map((step) => (
              <li key={`${bot} ${step}`} className="break-words">
                {plan.length > 1 && <span className="text-muted">{who}: </span>}
                {step}
              </li>
            )),
          )}
        </ul>
      )}
    />
  );
}
