/** The fields of a rule: which bot runs, its prompt and mode, and the rule's limits. */
import { useState } from 'react';
import { type AutomationBot, ruleModes } from '../../../contracts/connectors/rule.ts';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { BotField, ModeChoice } from './bot-fields.tsx';
import type { RuleDraft, RuleProblems } from './rule-form.ts';

export function RuleFields({
  bots,
  draft,
  problems,
  onChange,
  withBot = true,
}: {
  bots: readonly AutomationBot[];
  draft: RuleDraft;
  problems: RuleProblems;
  onChange: (change: Partial<RuleDraft>) => void;
  /** Else it is chosen elsewhere. */
  withBot?: boolean;
}) {
  type Written = Exclude<keyof RuleDraft, 'executionMode' | 'botId'>;
  const text = (name: Written) => ({
    value: draft[name],
    problem: problems[name],
    onChange: (value: string) => onChange({ [name]: value }),
  });
  const [open, setOpen] = useState(false);
  const area = 'field-sizing-content max-h-80 py-1.5';
  const bounded = ['batchSeconds', 'maxRunsPerDay', 'timeoutSeconds', 'dailySpend', 'match', 'expectedOutput'] as const;
  return (
    <>
      {withBot && (
        <BotField
          runs
          says="It runs with the events of this subscription."
          bots={bots}
          value={draft.botId}
          problem={problems.botId}
          onChange={(botId) => onChange({ botId })}
        />
      )}
      <AreaField
        label="Instructions"
        required
        description="What it does with the events. Their data goes along as a quotation of somebody else, never as instructions."
        {...text('instructions')}
        rows={3}
        className={area}
      />
      <ModeChoice
        modes={ruleModes}
        value={draft.executionMode}
        onChange={(executionMode) => onChange({ executionMode })}
      />
      <details
        // Opened by a problem it stays open: the field that is mended must not vanish under the hands.
        open={open || bounded.some((name) => problems[name] !== undefined)}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
          Bounds <span className="font-normal text-meta text-muted">when it runs, how often and how long</span>
        </summary>
        <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
          <div className="grid gap-3 sm:grid-cols-2">
            <TextField
              label="Gather for"
              description="Batch window in seconds. Events in the window share one run."
              {...text('batchSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Runs a day"
              description="At most, in any 24 hours."
              {...text('maxRunsPerDay')}
              inputMode="numeric"
            />
            <TextField
              label="Time of a run"
              description="Seconds; after that it is ended."
              {...text('timeoutSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Dollars a day"
              description="As reported by runs. Empty: no limit."
              {...text('dailySpend')}
              inputMode="decimal"
            />
          </div>
          <AreaField
            label="Only events that fit"
            description="JSON Schema on the data of an event; all, if left empty. Those that do not fit open a ticket alone."
            {...text('match')}
            rows={2}
            spellCheck={false}
            placeholder='{ "properties": { "priority": { "const": "high" } } }'
            className={`${area} font-mono text-code`}
          />
          <AreaField
            label="What comes out"
            description="How its answer should look."
            {...text('expectedOutput')}
            rows={2}
            className={area}
          />
        </div>
      </details>
    </>
  );
}
