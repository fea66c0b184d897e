/** Calls somebody: first checks whether it is allowed, with the reason; then dials with the reference for this one call. */
import { Check } from 'lucide-react';
import { useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { ConsentBasis } from '../../../contracts/phone/values.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Button } from '../../ui/button.tsx';
import { formatElapsed, useNow } from '../../ui/now.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { PhoneField } from './phone-field.tsx';
import { basisWords, noNumber, numberWords, readNumber } from './phone-words.ts';
import { wireCodeOf } from './queries.ts';
import { usePhoneServices, useTouchNumber } from './use-phone-services.ts';

interface Allowed {
  readonly consentRef: string;
  readonly basis: ConsentBasis;
  readonly expiresAt: string;
}

export function CallDialog({
  number,
  to,
  onClose,
  onConsent,
  onDialled,
}: {
  number: PhoneNumber;
  /** Null: to be typed. */
  to: string | null;
  onClose: () => void;
  /** To what else would let it. */
  onConsent: () => void;
  onDialled: (callId: string) => void;
}) {
  const { api } = usePhoneServices();
  const touch = useTouchNumber();
  const nameOf = useNameOfBot();
  const now = useNow();
  const [typed, setTyped] = useState(to ?? '');
  const [purpose, setPurpose] = useState('');
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const [allowed, setAllowed] = useState<Allowed | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const e164 = readNumber(typed);
  const left = allowed === null ? 0 : Date.parse(allowed.expiresAt) - now;
  const edit = (change: () => void) => {
    change();
    setAllowed(null);
    setRefused(null);
  };
  const act = useAct(async () => {
    begin();
    if (e164 === null || purpose.trim() === '') return toFirstProblem();
    setRefused(null);
    if (allowed !== null && left > 0) {
      try {
        const { callId } = await api.phone.calls.dialPhoneCall({ body: { consentRef: allowed.consentRef } });
        touch(number.id, 'calls');
        return onDialled(callId);
      } catch (error) {
        // Good once: another try needs another reference.
        setAllowed(null);
        throw error;
      }
    }
    try {
      const body = { numberId: number.id, to: e164, botId: number.botId, purpose: purpose.trim() };
      setAllowed(await api.phone.calls.askForCall({ body }));
    } catch (error) {
      if (wireCodeOf(error) !== 'no_consent' || !(error instanceof Error)) throw error;
      setRefused(error.message);
    }
  });
  return (
    <ActDialog
      title="Call somebody"
      description={`${nameOf(number.botId)} calls as ${numberWords(number.e164)}. Gantry first checks whether it may.`}
      label={allowed === null ? 'Check permission' : 'Call now'}
      busyLabel={allowed === null ? 'Checking' : 'Dialling'}
      act={act}
      focusAct={allowed !== null}
      onClose={onClose}
    >
      <ActForm form={form} act={act}>
        <PhoneField
          required
          problem={tried && e164 === null ? noNumber : undefined}
          value={typed}
          onChange={(value) => edit(() => setTyped(value))}
        />
        <TextField
          label="Purpose"
          required
          problem={tried && purpose.trim() === '' ? 'Required.' : undefined}
          description="Why the bot calls. Stored with the call."
          value={purpose}
          maxLength={500}
          onChange={(value) => edit(() => setPurpose(value))}
        />
        {refused !== null && (
          <div role="alert" data-call-refused="true">
            <Trouble of="call" needsPerson={false}>
              {refused}
            </Trouble>
            <p className="flex flex-wrap items-center gap-2 pt-2 text-muted">
              An invite is a page that asks for their consent.
              <Button onClick={onConsent}>Invites and consent</Button>
            </p>
          </div>
        )}
        {allowed !== null && (
          <p role="status" data-plan="call" className="flex gap-2 rounded-control border border-line bg-window p-2">
            <Check className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
            <span>
              Allowed: {basisWords[allowed.basis]}.{' '}
              <span className="text-muted tabular-nums">
                {left > 0 ? `Valid for one call within ${formatElapsed(left)}.` : 'Expired.'}
              </span>
            </span>
          </p>
        )}
      </ActForm>
    </ActDialog>
  );
}
