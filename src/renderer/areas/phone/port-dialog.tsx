/** Begins porting a number from another carrier; the details that carrier needs may be given now or later. */
import { useRef, useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { useBots } from '../../base/floors.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { BotField, holderOf, useOnlyBot } from './bot-field.tsx';
import { PhoneField } from './phone-field.tsx';
import { noNumber, portFields, readNumber } from './phone-words.ts';
import { PortFields } from './port-fields.tsx';
import { detailsOf, emptyPort, problemsOfPort } from './port-form.ts';
import { usePhoneServices, usePutNumber } from './use-phone-services.ts';

const names = portFields.map(({ name }) => name);

export function PortDialog({ onClose, onDone }: { onClose: () => void; onDone: (number: PhoneNumber) => void }) {
  const { api } = usePhoneServices();
  const put = usePutNumber();
  const bots = useBots();
  const only = useOnlyBot();
  const [typed, setTyped] = useState('');
  const [picked, setPicked] = useState<string | null>(null);
  const [draft, setDraft] = useState(emptyPort);
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const wish = useRef({ of: '', key: '' });
  const bot = bots.find(({ id }) => id === (picked ?? only));
  const e164 = readNumber(typed);
  const problems = problemsOfPort(draft);
  const port = useAct(async () => {
    begin();
    if (e164 === null || bot === undefined || Object.keys(problems).length > 0) return toFirstProblem();
    const details = detailsOf(draft);
    const body = { e164, ...holderOf(bot), ...(Object.keys(details).length === 0 ? {} : { details }) };
    const of = JSON.stringify(body);
    if (wish.current.of !== of) wish.current = { of, key: crypto.randomUUID() };
    const made = await api.phone.numbers.portPhoneNumber({ body }, { idempotencyKey: wish.current.key });
    put(made.number, { port: made.port });
    onDone(made.number);
  });
  return (
    <ActDialog
      title="Bring a number"
      description="From another carrier. It stays there until both carriers agree on a date. Calls move first, then texts."
      label="Start the port"
      busyLabel="Starting"
      act={port}
      onClose={onClose}
    >
      <ActForm form={form} act={port}>
        <PhoneField
          required
          problem={tried && e164 === null ? noNumber : undefined}
          value={typed}
          onChange={setTyped}
        />
        <BotField
          value={bot?.id ?? ''}
          problem={tried && bot === undefined ? 'Choose one.' : undefined}
          onChange={setPicked}
        />
        <details>
          <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
            Account at the other carrier{' '}
            <span className="font-normal text-meta text-muted">now, or when you have the bill</span>
          </summary>
          <div className="mt-2 grid gap-3 border-l border-line-strong pl-3 sm:grid-cols-2">
            <PortFields
              names={names}
              draft={draft}
              problems={problems}
              onChange={(change) => setDraft((old) => ({ ...old, ...change }))}
            />
          </div>
        </details>
        <p className="text-meta text-muted">
          The number counts towards your plan from now on. Do not cancel the contract there: the port does that.
        </p>
      </ActForm>
    </ActDialog>
  );
}
