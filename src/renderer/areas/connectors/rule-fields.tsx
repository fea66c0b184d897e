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
          says="The bot that handles this subscription’s events."
          bots={bots}
          value={draft.botId}
          problem={problems.botId}
          onChange={(botId) => onChange({ botId })}
        />
      )}
      <AreaField
        label="Instructions"
        required
        description="What the bot does with the events. Event data is passed as quoted text, never as instructions."
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
          Limits <span className="font-normal text-meta text-muted">when it runs, how often and how long</span>
        </summary>
        <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
          <div className="grid gap-3 sm:grid-cols-2">
            <TextField
              label="Batch window (seconds)"
              description="Events in the window share one job."
              {...text('batchSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Jobs per day"
              description="The most in any 24 hours."
              {...text('maxRunsPerDay')}
              inputMode="numeric"
            />
            <TextField
              label="Time limit (seconds)"
              description="A longer job is stopped."
              {...text('timeoutSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Daily budget (USD)"
              description="As reported by jobs. Empty: no limit."
              {...text('dailySpend')}
              inputMode="decimal"
            />
          </div>
          <AreaField
            label="Event filter"
            description="JSON Schema for the event data. Other events only open a ticket. Empty: every event makes a job."
            {...text('match')}
            rows={2}
            spellCheck={false}
            placeholder='{ "properties": { "priority": { "const": "high" } } }'
            className={`${area} font-mono text-code`}
          />
          <AreaField
            label="Expected output"
            description="What the answer should look like."
            {...text('expectedOutput')}
            rows={2}
            className={area}
          />
        </div>
      </details>
    </>
  );
}
