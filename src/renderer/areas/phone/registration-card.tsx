/** The progress of a number's registration: each step in words, corrections, and a sole proprietor's code. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Correction, Registration, RegistrationStep } from '../../../contracts/phone/registration.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, formatElapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { Status, StatusIcon } from '../../ui/status.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { portOf, registrationStatus, stepStatus } from './phone-status.ts';
import { numberWords } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { fieldWord } from './registration-form.ts';
import { useCorrection } from './use-correction.ts';
import { usePhoneServices } from './use-phone-services.ts';

export function RegistrationCard({ number, onOpen }: { number: PhoneNumber; onOpen: () => void }) {
  const { queries } = usePhoneServices();
  const source = useQuery(queries.registration(number.id, number.registered));
  const none = source.data === null;
  const wanted = number.smsState !== 'active';
  return (
    <Card
      title="Registration"
      aside={
        source.data === undefined || (none && !wanted) ? undefined : (
          <Status look={registrationStatus(source.data)} wire={source.data?.state ?? 'none'} />
        )
      }
    >
      <ListStates source={source} skeleton={<SkeletonRows count={4} />} isEmpty={() => false} empty={null}>
        {(registration) =>
          registration === null ? (
            <div data-state="empty" className="flex flex-col items-start gap-2 p-3">
              <p className="text-muted">
                {wanted
                  ? 'Carriers let a number send texts once they know who sends them and why. Calls work without registration.'
                  : 'This number needs no registration.'}
              </p>
              {wanted && (
                <Button
                  // A port comes first.
                  kind={portOf(number) === null ? 'primary' : 'plain'}
                  data-register="true"
                  onClick={onOpen}
                >
                  Register it
                </Button>
              )}
            </div>
          ) : (
            <Known number={number} registration={registration} onOpen={onOpen} />
          )
        }
      </ListStates>
    </Card>
  );
}

function Known({
  number,
  registration,
  onOpen,
}: {
  number: PhoneNumber;
  registration: Registration;
  onOpen: () => void;
}) {
  const { state, steps, problems, rejectionReason, needsPin, nextRetryAt, optInUrl, correctable } = registration;
  const { correction, dismiss } = useCorrection(number.id, registration);
  const box = useRef<HTMLDivElement>(null);
  const rejected = state === 'rejected';
  const corrects = state === 'approved' && correction?.state !== 'pending' && correctable.length > 0;
  const whys =
    problems.length === 0 ? [rejectionReason ?? 'The carriers did not say why.'] : problems.map(({ text }) => text);
  return (
    <div ref={box} className="flex flex-col gap-3 p-3" data-registration={state}>
      {rejected &&
        [...new Set(whys)].map((text) => (
          <Trouble key={text} of="registration" needsPerson>
            {text}
          </Trouble>
        ))}
      {rejected && (
        <Button kind="primary" className="w-fit" data-register="true" onClick={onOpen}>
          {correctWord(problems)}
        </Button>
      )}
      {state === 'approved' && correction !== null && (
        <Corrected
          correction={correction}
          onOpen={onOpen}
          onDismiss={() => {
            flushSync(dismiss);
            box.current?.querySelector<HTMLElement>('[data-register]')?.focus();
          }}
        />
      )}
      {!rejected && rejectionReason !== undefined && <Waiting reason={rejectionReason} nextRetryAt={nextRetryAt} />}
      {needsPin && <PinEntry number={number} phone={numberWords(registration.form.mobilePhone ?? 'your phone')} />}
      <ol aria-label="Steps of the registration" className="flex flex-col gap-1.5">
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
          <Step key={index} step={step} last={index === steps.length - 1} />
        ))}
      </ol>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-meta">
        <a
          href={optInUrl}
          target="_blank"
          rel="noreferrer"
          className="inline-flex items-center gap-1 rounded-control text-accent underline"
        >
          Opt-in page
          <ExternalLink className="size-3" aria-hidden="true" />
        </a>
        {!rejected && (
          <button type="button" onClick={onOpen} data-register="true" className="rounded-control text-muted underline">
            {corrects ? 'Correct the details' : 'View the filed form'}
          </button>
        )}
      </p>
    </div>
  );
}

function correctWord(problems: Registration['problems']): string {
  const fields = [...new Set(problems.flatMap(({ field }) => (field === null ? [] : [fieldWord(field)])))];
  return fields.length === 0 || fields.length > 2 ? 'Correct the form' : `Correct the ${fields.join(' or the ')}`;
}

/** Of what is registered; the number texts whatever becomes of it. */
function Corrected({
  correction,
  onOpen,
  onDismiss,
}: {
  correction: Correction;
  onOpen: () => void;
  onDismiss: () => void;
}) {
  const { state, fields, reason, problems, nextRetryAt } = correction;
  const words = [...new Set(fields.map(fieldWord))].join(', ');
  if (state === 'taken') return null;
  if (state === 'pending') {
    return (
      <div data-correction="pending" className="flex flex-col gap-1 text-muted">
        <p className="break-words">
          A correction is in review: {words}. The number keeps sending texts, and the current registration holds until
          the carriers accept the correction.
        </p>
        {reason !== undefined && <Waiting reason={reason} nextRetryAt={nextRetryAt} />}
      </div>
    );
  }
  return (
    <div data-correction="refused" className="flex flex-col gap-2">
      <Trouble of="registration" needsPerson={false}>
        {`The correction (${words}) was refused. The current registration still holds. ${reason ?? ''}`}
      </Trouble>
      <div className="flex flex-wrap gap-2">
        <Button data-register="true" onClick={onOpen}>
          {correctWord(problems)}
        </Button>
        <Button kind="quiet" onClick={onDismiss}>
          Dismiss
        </Button>
      </div>
    </div>
  );
}

/** What was is grey; only what stands now calls for anybody. */
function Step({ step, last }: { step: RegistrationStep; last: boolean }) {
  const failed = step.state === 'failed';
  // What was under way is past once another step has come.
  const look = last || failed ? stepStatus[step.state] : stepStatus.done;
  const tone = failed && last ? 'text-fail' : last ? '' : 'text-muted';
  return (
    <li data-step={step.step} className={`flex gap-2 ${tone}`}>
      <span className="mt-[3px]" title={step.state}>
        <StatusIcon look={look} />
      </span>
      <span className="min-w-0 flex-1">
        <span className="sr-only">{look.word}: </span>
        <span className="break-words">{step.text}</span>{' '}
        <span className="text-meta whitespace-nowrap text-muted">
          {step.field !== null && <>at {fieldWord(step.field)} · </>}
          <Ago at={step.at} />
        </span>
      </span>
    </li>
  );
}

function Waiting({ reason, nextRetryAt }: { reason: string; nextRetryAt: string | null }) {
  const now = useNow();
  const left = nextRetryAt === null ? null : Date.parse(nextRetryAt) - now;
  return (
    <p data-waiting="true" className="text-muted">
      {/* The word is for programs. */}
      <span className="inline-block break-words first-letter:uppercase">{reason.replace(/^waiting:\s*/, '')}</span> You
      do not need to do anything.
      {left !== null && (
        <span className="tabular-nums">
          {' '}
          {left > 0 ? `Gantry tries again in ${formatElapsed(left)}.` : 'Gantry is trying again now.'}
        </span>
      )}
    </p>
  );
}

function PinEntry({ number, phone }: { number: PhoneNumber; phone: string }) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const [pin, setPin] = useState('');
  const [said, setSaid] = useState<string | null>(null);
  const params = { id: number.id };
  const put = (registration: Registration) =>
    client.setQueryData(phoneKeys.of(number.id, 'registration'), registration);
  const confirm = useAct(async () => {
    setSaid(null);
    put(await api.phone.numbers.confirmPhoneRegistration({ params, body: { pin: pin.trim() } }));
  });
  const again = useAct(async () => {
    put(await api.phone.numbers.confirmPhoneRegistration({ params, body: {} }));
    setSaid('A new code is on its way. The previous one no longer works.');
  });
  const failure = confirm.failure ?? again.failure;
  const busy = confirm.busy || again.busy;
  return (
    <form
      aria-label="Code"
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (pin.trim() !== '') confirm.run();
      }}
    >
      <Field label="Code" description={`Texted to ${phone}.`}>
        {(ids) => (
          <input
            {...ids}
            value={pin}
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={10}
            onChange={(event) => setPin(event.target.value)}
            className={`${ids.className} h-7 font-mono tabular-nums pointer-coarse:h-10`}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" type="submit" disabled={busy || pin.trim() === ''}>
          Confirm
        </Button>
        <Button kind="quiet" disabled={busy} onClick={() => again.run()}>
          Send a new code
        </Button>
      </div>
      {said !== null && (
        <p role="status" className="text-muted">
          {said}
        </p>
      )}
      {failure !== null && <Problem error={failure} />}
    </form>
  );
}
