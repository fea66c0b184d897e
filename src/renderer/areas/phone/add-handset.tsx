/** One more person with a phone, in the demo. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { PhoneField } from './phone-field.tsx';
import { noNumber, readNumber } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';

export function AddHandset({ onClose }: { onClose: () => void }) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [typed, setTyped] = useState('');
  const e164 = typed.trim() === '' ? undefined : readNumber(typed);
  const act = useAct(async () => {
    if (name.trim() === '' || e164 === null) return;
    await api.phone.demo.addDemoHandset({ body: { name: name.trim(), ...(e164 === undefined ? {} : { e164 }) } });
    await client.invalidateQueries({ queryKey: phoneKeys.demo });
    onClose();
  });
  return (
    <ActDialog
      title="Add a handset"
      description="A simulated phone for one more person."
      label="Add"
      busyLabel="Adding"
      act={act}
      ready={name.trim() !== '' && e164 !== null}
      onClose={onClose}
    >
      <ActForm act={act}>
        <TextField label="Name" required value={name} maxLength={60} onChange={setName} />
        <PhoneField
          problem={e164 === null ? noNumber : undefined}
          description="Empty: chosen for you. Some endings are test numbers."
          value={typed}
          placeholder=""
          onChange={setTyped}
        />
      </ActForm>
    </ActDialog>
  );
}
