/** Transfers a call: to one of the bot's targets or to another number, with or without asking first. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Call } from '../../../contracts/phone/calls.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Choice } from '../../ui/choice.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { PhoneField } from './phone-field.tsx';
import { noNumber, numberWords, readNumber } from './phone-words.ts';
import { usePhoneServices, useTouchNumber } from './use-phone-services.ts';

const other = 'other';

export function TransferDialog({ number, call, onClose }: { number: PhoneNumber; call: Call; onClose: () => void }) {
  const { api, queries } = usePhoneServices();
  const touch = useTouchNumber();
  const targets = useQuery(queries.botConfig(call.botId)).data?.transferTargets ?? [];
  const [picked, setPicked] = useState<string | null>(null);
  const [typed, setTyped] = useState('');
  const [mode, setMode] = useState<'warm' | 'cold'>('warm');
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const chosen = picked ?? targets[0]?.e164 ?? other;
  const e164 = chosen === other ? readNumber(typed) : chosen;
  const act = useAct(async () => {
    begin();
    if (e164 === null) return toFirstProblem();
    await api.phone.calls.controlPhoneCall({
      params: { callId: call.id },
      body: { action: 'transfer', to: e164, mode },
    });
    touch(number.id, 'calls');
    onClose();
  });
  return (
    <ActDialog
      title="Transfer the call"
      description={`${numberWords(call.with)} then talks to somebody else, and the bot leaves.`}
      label="Transfer"
      busyLabel="Transferring"
      act={act}
      onClose={onClose}
    >
      <ActForm form={form} act={act}>
        <Choice
          legend="To"
          name="target"
          value={chosen}
          onChange={setPicked}
          choices={[
            ...targets.map(({ e164: key, label }) => ({ key, word: label, says: numberWords(key) })),
            { key: other, word: 'Another number', says: 'One that you may call' },
          ]}
        />
        {chosen === other && (
          <PhoneField
            required
            problem={tried && e164 === null ? noNumber : undefined}
            value={typed}
            onChange={setTyped}
          />
        )}
        <Choice
          legend="How"
          name="mode"
          value={mode}
          onChange={setMode}
          choices={[
            {
              key: 'warm',
              word: 'Ask first',
              says: 'The caller waits on hold while they are asked: 1 accepts, 2 declines and returns the call to the bot',
            },
            { key: 'cold', word: 'At once', says: 'The caller is sent there whether anybody answers or not' },
          ]}
        />
      </ActForm>
    </ActDialog>
  );
}
