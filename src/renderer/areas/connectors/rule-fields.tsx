/** The fields of a rule: who runs with which words and how it may act; and what bounds it. */
import { useState } from 'react';
import { type AutomationBot, ruleModes } from '../../../contracts/connectors/rule.ts';
import { Field } from '../../ui/schema-form.tsx';
import { TextField } from '../../ui/text-field.tsx';
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
  const line = (name: Written) => ({ value: draft[name], onChange: (value: string) => onChange({ [name]: value }) });
  const text = (name: Written) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  });
  const [open, setOpen] = useState(false);
  const area = 'field-sizing-content max-h-80 resize-y py-1.5';
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
      <Field
        label="Instructions"
        required
        problem={problems.instructions}
        description="What it does with the events. Their data goes along as a quotation of somebody else, never as instructions."
      >
        {(ids) => <textarea {...ids} {...text('instructions')} rows={3} className={`${ids.className} ${area}`} />}
      </Field>
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
              problem={problems.batchSeconds}
              description="Seconds; one run for all events meanwhile."
              {...line('batchSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Runs a day"
              problem={problems.maxRunsPerDay}
              description="At most, in any 24 hours."
              {...line('maxRunsPerDay')}
              inputMode="numeric"
            />
            <TextField
              label="Time of a run"
              problem={problems.timeoutSeconds}
              description="Seconds; after that it is ended."
              {...line('timeoutSeconds')}
              inputMode="numeric"
            />
            <TextField
              label="Dollars a day"
              problem={problems.dailySpend}
              description="By what runs report; none if left empty."
              {...line('dailySpend')}
              inputMode="decimal"
            />
          </div>
          <Field
            label="Only events that fit"
            problem={problems.match}
            description="JSON Schema on the data of an event; all, if left empty. Those that do not fit open a ticket alone."
          >
            {(ids) => (
              <textarea
                {...ids}
                {...text('match')}
                rows={2}
                spellCheck={false}
                placeholder='{ "properties": { "priority": { "const": "high" } } }'
                className={`${ids.className} ${area} font-mono text-code`}
              />
            )}
          </Field>
          <Field label="What comes out" problem={problems.expectedOutput} description="How its answer should look.">
            {(ids) => <textarea {...ids} {...text('expectedOutput')} rows={2} className={`${ids.className} ${area}`} />}
          </Field>
        </div>
      </details>
    </>
  );
}
