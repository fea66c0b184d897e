/** A new schedule: the run's form and its times; then the next times and who would do what; then it is saved. */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { z } from 'zod';
import type { SchedulePlan } from '../../../contracts/factory/schedules-routes.ts';
import type { Template } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Check } from '../../ui/choice.tsx';
import { SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { assigneeWords } from './node-card.tsx';
import { RunFields, useRunForm, WithTemplate } from './run-fields.tsx';
import { momentIn, repeatWords, type WhenFields, weekdays, whenOf } from './schedule-form.ts';

const title = 'New schedule';
const about = 'Runs a template at set times. You see the next times before you save.';

export function ScheduleDialog({ onClose }: { onClose: () => void }) {
  return (
    <WithTemplate first={null} title={title} about={about} onClose={onClose}>
      {(template, picker) => <Form key={template.id} template={template} picker={picker} onClose={onClose} />}
    </WithTemplate>
  );
}

type Plan = z.output<typeof SchedulePlan>['plan'];

function Form({ template, picker, onClose }: { template: Template; picker: ReactNode; onClose: () => void }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const [tried, setTried] = useState(false);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [runMissed, setRunMissed] = useState(false);
  const [name, setName] = useState('');
  const [when, setWhen] = useState<WhenFields>(() => ({
    repeat: 'daily',
    time: '09:00',
    weekday: 1,
    cron: '',
    moment: '',
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }));
  const attempt = useRef<{ readonly key: string; campaignId: string | null }>({
    key: crypto.randomUUID(),
    campaignId: null,
  });
  const renew = () => {
    setPlan(null);
    attempt.current = { key: crypto.randomUUID(), campaignId: null };
  };
  const form = useRunForm(template, null, renew);
  const change = (some: Partial<WhenFields>) => {
    setWhen((old) => ({ ...old, ...some }));
    renew();
  };
  const chosen = whenOf(when);
  const missing = tried && chosen === null ? 'Required.' : undefined;

  const go = useAct(async () => {
    setTried(true);
    if (Object.keys(form.problems).length > 0 || chosen === null) return;
    const body = {
      ...chosen,
      timezone: when.timezone.trim(),
      runMissed,
      title: name.trim() === '' ? template.name : name.trim(),
    };
    if (plan === null) {
      const answer = await api.factory.createSchedule({
        body: { ...body, run: { ...form.request(), ...form.planPlace() }, dryRun: true },
      });
      if ('dryRun' in answer) setPlan(answer.plan);
      return;
    }
    const current = attempt.current;
    current.campaignId ??= await form.openPlace(current.key);
    await api.factory.createSchedule(
      { body: { ...body, run: { ...form.request(), campaignId: current.campaignId } } },
      { idempotencyKey: current.key },
    );
    await client.invalidateQueries({ queryKey: keys.schedules });
    onClose();
  });

  return (
    <ActDialog
      title={title}
      description={about}
      label={plan === null ? 'Show next times' : 'Save schedule'}
      act={go}
      focusAct={plan !== null}
      onClose={onClose}
    >
      <ActForm act={go}>
        <RunFields form={form} picker={picker} tried={tried} />
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField
            label="When"
            value={when.repeat}
            onChange={(repeat) => change({ repeat })}
            options={repeatWords}
          />
          {when.repeat === 'weekly' && (
            <SelectField label="Day" value={String(when.weekday)} onChange={(day) => change({ weekday: Number(day) })}>
              {weekdays.map((day, index) => (
                <option key={day} value={index}>
                  {day}
                </option>
              ))}
            </SelectField>
          )}
          {['daily', 'workdays', 'weekly'].includes(when.repeat) && (
            <TextField
              label="Time"
              required
              problem={missing}
              type="time"
              value={when.time}
              onChange={(time) => change({ time })}
            />
          )}
          {when.repeat === 'cron' && (
            <TextField
              label="Cron"
              required
              description="Minute, hour, day, month, weekday."
              problem={missing}
              value={when.cron}
              placeholder="0 9 * * 1-5"
              spellCheck={false}
              onChange={(cron) => change({ cron })}
              className="font-mono text-code"
            />
          )}
          {when.repeat === 'once' ? (
            <TextField
              label="At"
              required
              problem={missing}
              type="datetime-local"
              value={when.moment}
              onChange={(moment) => change({ moment })}
            />
          ) : (
            <TextField
              label="Time zone"
              value={when.timezone}
              spellCheck={false}
              onChange={(timezone) => change({ timezone })}
            />
          )}
          <TextField
            label="Name"
            description="Empty: the template’s name."
            value={name}
            maxLength={200}
            onChange={(typed) => {
              setName(typed);
              renew();
            }}
          />
        </div>
        <Check
          on={runMissed}
          onChange={(on) => {
            setRunMissed(on);
            renew();
          }}
        >
          If this computer was off, run once when it is back
        </Check>
        {plan !== null && <NextTimes plan={plan} />}
      </ActForm>
    </ActDialog>
  );
}

function NextTimes({ plan }: { plan: Plan }) {
  const shown = useRef<HTMLElement>(null);
  // They come below a form that may be longer than the dialog.
  useEffect(() => {
    shown.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section ref={shown} aria-label="Next times" className="border-t border-line pt-3">
      <h3 className="pb-1 font-semibold">
        Next times <span className="font-normal text-muted">({plan.timezone})</span>
      </h3>
      <ul>
        {plan.next.map((at) => (
          <li key={at} className="tabular-nums">
            {momentIn(at, plan.timezone)}
          </li>
        ))}
      </ul>
      <p className="pt-1 text-muted">
        {plan.nodes.length} {plan.nodes.length === 1 ? 'step' : 'steps'} each time, by{' '}
        {[...new Set(plan.nodes.map(({ executor }) => assigneeWords(executor)))].join(', ')}
      </p>
    </section>
  );
}
