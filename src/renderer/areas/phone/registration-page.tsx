/** A number's business form, all on one page; the server checks it and shows its fees before anything is filed. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { AppError } from '../../../contracts/common/errors.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Registration } from '../../../contracts/phone/registration.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { useNarrow } from '../../base/use-narrow.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { Status } from '../../ui/status.tsx';
import { AreaField } from '../../ui/text-field.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { NoNumber } from './number-page.tsx';
import { registrationStatus } from './phone-status.ts';
import { numberWords } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import {
  correctionOf,
  type Draft,
  draftOf,
  type FormProblem,
  fieldsOf,
  formOf,
  problemsByField,
  problemsIn,
  sections,
} from './registration-form.ts';
import { type FilingPlan, PlanShown } from './registration-plan.tsx';
import { useCorrection } from './use-correction.ts';
import { usePhoneServices, usePutNumber } from './use-phone-services.ts';
import type { WithinNumber } from './within.ts';

const line = 'h-7 pointer-coarse:h-10';

export function RegistrationPage({ id, number, source, go, onBack }: WithinNumber) {
  const { queries } = usePhoneServices();
  const narrow = useNarrow();
  const registration = useQuery({ ...queries.registration(id, number?.registered), enabled: number !== undefined });
  return (
    <>
      <OpenBar
        back="Back to the number"
        onBack={onBack}
        within={
          number === undefined || narrow
            ? undefined
            : { name: numberWords(number.e164), onOpen: () => go({ number: id }) }
        }
        title="Registration"
      >
        <span role="status">
          {registration.data !== undefined && (
            <Status look={registrationStatus(registration.data)} wire={registration.data?.state ?? 'none'} />
          )}
        </span>
      </OpenBar>
      {number === undefined ? (
        <NoNumber source={source} onBack={onBack} />
      ) : (
        <ListStates source={registration} skeleton={<SkeletonRows count={10} />} isEmpty={() => false} empty={null}>
          {(known) => (
            <Form
              // What is decided while the form is open is said in it; what was typed is kept.
              key={`${known?.state} ${known?.correction?.askedAt} ${known?.correction?.state}`}
              number={number}
              known={known}
              onFiled={() => go({ number: id }, true)}
            />
          )}
        </ListStates>
      )}
    </>
  );
}

interface Filed {
  readonly number: PhoneNumber;
  /** What was filed; null: nothing was. */
  readonly known: Registration | null;
  readonly onFiled: () => void;
}

function Form(filed: Filed) {
  const { number, known } = filed;
  const form = useRef<HTMLFormElement>(null);
  const { draft, change, problems, plan, file } = useFiling(filed, form);
  const says = problemsByField(problems, draft);
  const registered = known?.state === 'approved';
  // Under review, or a correction of it is.
  const over = known?.state === 'pending' || known?.correction?.state === 'pending';
  const isFixed = (name: string): boolean => known !== null && (over || !known.correctable.includes(name));
  const someFixed = sections.some(({ fields }) => fields.some(({ name }) => isFixed(name)));
  return (
    <form
      ref={form}
      aria-label="Registration"
      className="flex max-w-[720px] flex-col gap-4 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        file.run();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        file.run();
      }}
    >
      {over && (
        <p className="text-muted">
          {registered
            ? 'A correction is in review. You can make another once the carriers have decided.'
            : 'The form was filed. You can correct it here once the carriers have decided.'}
        </p>
      )}
      {known !== null && !over && someFixed && (
        <p className="text-muted">
          {registered && 'Change what is out of date. The number keeps sending texts meanwhile. '}
          Marked fields are fixed: the carriers verified the business or filed its campaign with them.
        </p>
      )}
      {says.get('') !== undefined && (
        <Trouble of="registration" needsPerson>
          {says.get('')}
        </Trouble>
      )}
      {number.type !== 'toll_free' && !isFixed('entityType') && (
        <Choice
          legend="Who are you?"
          name="who"
          value={draft.who}
          onChange={(who) => change({ who })}
          choices={[
            { key: 'business', word: 'A business', says: 'With an EIN: a company, a non-profit or an office' },
            {
              key: 'person',
              word: 'A sole proprietor',
              says: 'One person without an EIN: one number, lower limits, and a code to your phone',
            },
          ]}
        />
      )}
      {sections.map((section) => (
        <fieldset key={section.title} className="min-w-0 border-t border-line pt-3">
          <legend className="float-left w-full text-title font-semibold">{section.title}</legend>
          <p className="clear-both pb-3 text-muted">{section.says}</p>
          <div className="grid gap-3 sm:grid-cols-2">
            {fieldsOf(section, draft).map((field) => (
              <FormField
                key={field.name}
                field={field}
                draft={draft}
                fixed={isFixed(field.name)}
                hint={isFixed(field.name) && !over ? 'Cannot change.' : field.says}
                problem={says.get(field.name)}
                onChange={(text) => change({ texts: { ...draft.texts, [field.name]: text } })}
              />
            ))}
          </div>
          {section.title === 'Purpose' && (
            <Samples
              draft={draft}
              fixed={isFixed('sampleMessages')}
              problem={says.get('sampleMessages')}
              onChange={(samples) => change({ samples })}
            >
              <Field
                label="Texts per month"
                problem={says.get('monthlyMessages')}
                description="Roughly how many in total."
              >
                {(ids) => (
                  <input
                    {...ids}
                    name="monthlyMessages"
                    inputMode="numeric"
                    autoComplete="off"
                    value={draft.monthly}
                    readOnly={isFixed('monthlyMessages')}
                    onChange={(event) => change({ monthly: event.target.value.replace(/\D/g, '') })}
                    className={`${ids.className} ${line} tabular-nums sm:w-1/2`}
                  />
                )}
              </Field>
            </Samples>
          )}
        </fieldset>
      ))}
      {plan !== null && <PlanShown plan={plan} registered={registered} />}
      {file.failure !== null && <Problem error={file.failure} />}
      <FileButton
        plan={plan}
        busy={file.busy}
        disabled={over || (registered && plan?.changes.length === 0)}
        registered={registered}
        wrong={problems.length}
      />
    </form>
  );
}

/** What was typed, and its way to the carriers: first the server looks the form over, then it is filed. */
function useFiling({ number, known, onFiled }: Filed, form: RefObject<HTMLFormElement | null>) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const put = usePutNumber();
  const draftKey = phoneKeys.of(number.id, 'draft');
  // What was typed is there after a look elsewhere.
  const { correction } = useCorrection(number.id, known);
  const asked = correction?.state === 'taken' ? null : correction;
  const [draft, setDraft] = useState<Draft>(
    () => client.getQueryData<Draft>(draftKey) ?? draftOf(asked?.form ?? known?.form ?? null),
  );
  const [problems, setProblems] = useState<readonly FormProblem[]>(asked?.problems ?? known?.problems ?? []);
  const [plan, setPlan] = useState<FilingPlan | null>(null);

  const change = (part: Partial<Draft>): void => {
    const next = { ...draft, ...part };
    setDraft(next);
    client.setQueryData(draftKey, next);
    // A plan holds for the form it was made of.
    setPlan(null);
  };
  const file = useAct(async () => {
    const ask = {
      params: { id: number.id },
      body: known === null ? formOf(draft, number.type) : correctionOf(draft, number.type, known),
    };
    try {
      if (plan === null) {
        const answer = await api.phone.numbers.submitPhoneRegistration({ ...ask, query: { dryRun: '1' } });
        flushSync(() => setProblems([]));
        if ('dryRun' in answer) setPlan(answer.plan);
        return;
      }
      const filed = await api.phone.numbers.submitPhoneRegistration(ask);
      if ('dryRun' in filed) return;
      client.setQueryData(phoneKeys.of(number.id, 'registration'), filed);
      client.removeQueries({ queryKey: draftKey });
      put({ ...number, smsState: filed.smsState, registered: true });
      onFiled();
    } catch (error) {
      const wrong = error instanceof AppError ? problemsIn(error.options.extra) : null;
      if (wrong === null) throw error;
      flushSync(() => {
        setPlan(null);
        setProblems(wrong);
      });
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    }
  });
  return { draft, change, problems, plan, file };
}

function FormField({
  field: { name, word, options, multiline, needed, preset },
  draft,
  fixed,
  hint,
  problem,
  onChange,
}: {
  field: ReturnType<typeof fieldsOf>[number];
  draft: Draft;
  /** The carriers keep it as it was filed. */
  fixed: boolean;
  hint: string | undefined;
  problem: string | undefined;
  onChange: (text: string) => void;
}) {
  const value = draft.texts[name];
  // Nothing is there, and nothing can be.
  if (fixed && value === '' && preset === undefined) return null;
  const tone = fixed ? 'text-muted' : '';
  const set = (event: { target: { value: string } }) => onChange(event.target.value);
  const field = (
    <Field
      label={word}
      required={!fixed && (needed === true || needed === draft.who)}
      problem={problem}
      {...(hint === undefined ? {} : { description: hint })}
    >
      {(ids) =>
        options !== undefined ? (
          <select
            {...ids}
            name={name}
            value={value === '' ? preset : value}
            onChange={set}
            disabled={fixed}
            className={`${ids.className} ${line} ${tone}`}
          >
            {options.map((one) => (
              <option key={one.value} value={one.value}>
                {one.word}
              </option>
            ))}
          </select>
        ) : multiline === true ? (
          <textarea
            {...ids}
            name={name}
            rows={3}
            value={value}
            onChange={set}
            readOnly={fixed}
            className={`${ids.className} field-sizing-content min-h-16 resize-y py-1 ${tone}`}
          />
        ) : (
          <input
            {...ids}
            name={name}
            value={value}
            onChange={set}
            readOnly={fixed}
            autoComplete="off"
            spellCheck={false}
            className={`${ids.className} ${line} ${tone}`}
          />
        )
      }
    </Field>
  );
  return multiline === true ? <div className="sm:col-span-2">{field}</div> : field;
}

/** One button for both: first the form is looked over, then it is filed. */
function FileButton({
  plan,
  busy,
  disabled,
  registered,
  wrong,
}: {
  plan: FilingPlan | null;
  busy: boolean;
  disabled: boolean;
  registered: boolean;
  wrong: number;
}) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (plan === null) return;
    button.current?.focus();
    button.current?.scrollIntoView({ block: 'end' });
  }, [plan]);
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line pt-3">
      <Button
        className="scroll-mb-4"
        ref={button}
        kind="primary"
        type="submit"
        disabled={busy || disabled}
        aria-keyshortcuts="Control+Enter"
      >
        {plan === null
          ? busy
            ? 'Checking'
            : 'Check the form'
          : busy
            ? 'Filing'
            : plan.corrects
              ? 'Correct it'
              : 'File it'}
      </Button>
      <p role="status" className="text-muted">
        {plan === null && wrong > 0
          ? `Correct ${wrong === 1 ? 'one thing' : `${wrong} things`} above.`
          : plan === null
            ? registered
              ? 'Nothing goes to the carriers until you have seen what changes.'
              : 'Nothing is filed or charged until you have seen the fees.'
            : ''}
      </p>
    </div>
  );
}

function Samples({
  draft,
  fixed,
  problem,
  onChange,
  children,
}: {
  draft: Draft;
  fixed: boolean;
  problem: string | undefined;
  onChange: (samples: readonly string[]) => void;
  children: ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  const { samples } = draft;
  function add(): void {
    flushSync(() => onChange([...samples, '']));
    [...(box.current?.querySelectorAll('textarea') ?? [])].at(-1)?.focus();
  }
  return (
    <div ref={box} className="flex flex-col gap-3 pt-3">
      {samples.map((text, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity; the last one is what goes
        <div key={index} className="flex items-start gap-1.5">
          <div className="min-w-0 flex-1">
            <AreaField
              label={`Sample text ${index + 1}`}
              required={index < 2}
              problem={index === 0 ? problem : undefined}
              description={index === 0 ? 'As you would really send it, with your name in it.' : undefined}
              rows={1}
              value={text}
              readOnly={fixed}
              onChange={(typed) => onChange(samples.map((one, at) => (at === index ? typed : one)))}
              className={`field-sizing-content min-h-7 py-[3px] pointer-coarse:min-h-10 ${fixed ? 'text-muted' : ''}`}
            />
          </div>
          {samples.length > 1 && !fixed && (
            <IconButton
              label={`Remove sample text ${index + 1}`}
              className="mt-[26px] pointer-coarse:mt-6"
              onClick={() => onChange(samples.filter((_, at) => at !== index))}
            >
              <X aria-hidden="true" />
            </IconButton>
          )}
        </div>
      ))}
      {samples.length < 5 && !fixed && (
        <Button icon={Plus} className="w-fit" onClick={add}>
          Add sample
        </Button>
      )}
      {children}
    </div>
  );
}
