/** Records what somebody said by other means than text: that they may be called, or that they want no more contact. */
import { useRef, useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { AreaField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { PhoneField } from './phone-field.tsx';
import { noNumber, readNumber } from './phone-words.ts';
import { usePhoneServices, useTouchNumber } from './use-phone-services.ts';

interface Noted {
  readonly who: string;
  readonly source: string;
  readonly evidence: string;
}

/** The fields of either, what is wrong with them once it was tried, and the act. */
function useNote(
  fields: readonly (keyof Noted)[],
  send: (noted: Noted) => Promise<unknown>,
  known: Partial<Noted> = {},
) {
  const [noted, setNoted] = useState<Noted>({ who: '', source: '', evidence: '', ...known });
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const e164 = readNumber(noted.who);
  const empty = (name: keyof Noted): string | undefined =>
    tried && noted[name].trim() === '' ? 'Required.' : undefined;
  const problems = {
    who: tried && e164 === null ? noNumber : undefined,
    source: empty('source'),
    evidence: empty('evidence'),
  };
  const act = useAct(async () => {
    begin();
    if (e164 === null || fields.some((name) => noted[name].trim() === '')) return toFirstProblem();
    await send({ who: e164, source: noted.source.trim(), evidence: noted.evidence.trim() });
  });
  return {
    act,
    form,
    text: (name: keyof Noted) => ({
      value: noted[name],
      problem: problems[name],
      onChange: (value: string) => setNoted((old) => ({ ...old, [name]: value })),
    }),
  };
}

function NoteForm({
  note,
  evidence,
  children,
}: {
  note: ReturnType<typeof useNote>;
  evidence: { readonly says: string; readonly max: number };
  children?: React.ReactNode;
}) {
  return (
    <ActForm form={note.form} act={note.act}>
      <PhoneField label="Their number" required {...note.text('who')} />
      {children}
      <AreaField
        label="Evidence"
        required
        description={evidence.says}
        {...note.text('evidence')}
        autoComplete="off"
        rows={3}
        maxLength={evidence.max}
        className="py-1"
      />
    </ActForm>
  );
}

export function ConsentDialog({ number, onClose }: { number: PhoneNumber; onClose: () => void }) {
  const { api } = usePhoneServices();
  const touch = useTouchNumber();
  const key = useRef(crypto.randomUUID());
  const note = useNote(['who', 'source', 'evidence'], async ({ who, source, evidence }) => {
    await api.phone.calls.recordPhoneConsent(
      { params: { id: number.id }, body: { e164: who, source, evidence } },
      { idempotencyKey: key.current },
    );
    touch(number.id);
    onClose();
  });
  return (
    <ActDialog
      title="Record consent"
      description="Somebody agreed to be called. The record is permanent, allows no texts and lifts no STOP."
      label="Record"
      busyLabel="Recording"
      act={note.act}
      onClose={onClose}
    >
      <NoteForm note={note} evidence={{ says: 'Their words, when and where, and who can confirm them.', max: 4000 }}>
        <TextField
          label="How they agreed"
          required
          description="For example: form on the website."
          {...note.text('source')}
          maxLength={100}
        />
      </NoteForm>
    </ActDialog>
  );
}

export function OptOutDialog({
  number,
  who = '',
  evidence = '',
  onClose,
}: {
  number: PhoneNumber;
  /** As far as it is known. */
  who?: string;
  evidence?: string;
  onClose: () => void;
}) {
  const { api } = usePhoneServices();
  const touch = useTouchNumber();
  const add = async (said: { who: string; evidence: string }) => {
    const body = { e164: said.who, evidence: said.evidence };
    await api.phone.texts.addPhoneOptOut({ params: { id: number.id }, body });
    touch(number.id);
    onClose();
  };
  const note = useNote(['who', 'evidence'], add, { who, evidence });
  return (
    <ActDialog
      title="Record a STOP"
      description="Somebody asked in another way not to be texted or called. It holds until they send START."
      label="Record"
      busyLabel="Recording"
      act={note.act}
      onClose={onClose}
    >
      <NoteForm note={note} evidence={{ says: 'What they said, when and where.', max: 2000 }} />
    </ActDialog>
  );
}
