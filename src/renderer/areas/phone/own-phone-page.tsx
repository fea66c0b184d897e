/** The person's own phone: confirmed by a text with a code, it answers approvals with YES and NO. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { CircleCheck } from 'lucide-react';
import { useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { OwnPhone } from '../../../contracts/phone/texts.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Command } from '../../ui/copy.tsx';
import { type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { formatElapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { SelectField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { PhoneField } from './phone-field.tsx';
import { noNumber, numberWords, readNumber } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';

interface Code {
  readonly code: string;
  readonly expiresAt: string;
}

export function OwnPhonePage({ numbers, onBack }: { numbers: ListSource<readonly PhoneNumber[]>; onBack: () => void }) {
  const { queries } = usePhoneServices();
  const source = useQuery(queries.ownPhone);
  const [code, setCode] = useState<Code | null>(null);
  return (
    <>
      <OpenBar back="Back to the list" onBack={onBack} title="My own phone" />
      <div className="flex max-w-[640px] flex-col gap-3 p-4">
        <p className="text-muted">
          You can also answer approvals by text from your phone: YES or NO and the code. Only the phone that you confirm
          here counts. From any other, the text is an ordinary message.
        </p>
        <ListStates source={source} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
          {(own) =>
            own.e164 === null ? (
              <Name numbers={numbers} onCode={setCode} />
            ) : (
              <Named
                own={own}
                numbers={numbers.data ?? []}
                code={own.confirmed ? null : code}
                onGone={() => setCode(null)}
              />
            )
          }
        </ListStates>
      </div>
    </>
  );
}

function Named({
  own,
  numbers,
  code,
  onGone,
}: {
  own: OwnPhone;
  numbers: readonly PhoneNumber[];
  /** Null: it was shown before, and only then. */
  code: Code | null;
  onGone: () => void;
}) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const now = useNow();
  const number = numbers.find(({ id }) => id === own.numberId);
  const left = code === null ? 0 : Date.parse(code.expiresAt) - now;
  const forget = useAct(async () => {
    await api.phone.texts.deleteOwnPhone();
    onGone();
    client.setQueryData<OwnPhone>(phoneKeys.own, { e164: null, confirmed: false, numberId: null });
    void client.invalidateQueries({ queryKey: phoneKeys.own });
  });
  return (
    <Card title={numberWords(own.e164 ?? '')} aside={own.confirmed ? 'confirmed' : 'not confirmed yet'}>
      <div className="flex flex-col items-start gap-2 p-3" data-own={own.confirmed ? 'confirmed' : 'waiting'}>
        {own.confirmed ? (
          <p role="status" className="flex gap-2">
            <CircleCheck className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
            This phone answers approvals{number !== undefined && ` by texts to ${numberWords(number.e164)}`}.
          </p>
        ) : code !== null && left > 0 ? (
          <>
            <p>
              From this phone, text this code to{' '}
              <span className="font-medium tabular-nums">{numberWords(number?.e164 ?? '')}</span>:
            </p>
            <Command text={code.code} />
            <p className="text-meta text-muted tabular-nums">
              Valid for {formatElapsed(left)}. This page updates automatically.
            </p>
          </>
        ) : (
          <p className="text-muted">
            The code is shown only once, and no text with it has arrived. Start over for a new one.
          </p>
        )}
        <Button kind={own.confirmed ? 'danger' : 'plain'} disabled={forget.busy} onClick={() => forget.run()}>
          {own.confirmed ? 'Forget this phone' : 'Start over'}
        </Button>
        {forget.failure !== null && <Problem error={forget.failure} />}
      </div>
    </Card>
  );
}

function Name({ numbers, onCode }: { numbers: ListSource<readonly PhoneNumber[]>; onCode: (code: Code) => void }) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const list = numbers.data ?? [];
  const [typed, setTyped] = useState('');
  const [picked, setPicked] = useState('');
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const e164 = readNumber(typed);
  const numberId = list.length === 1 ? (list[0]?.id ?? '') : picked;
  const act = useAct(async () => {
    begin();
    if (e164 === null || numberId === '') return toFirstProblem();
    const { own, code, expiresAt } = await api.phone.texts.putOwnPhone({ body: { e164, numberId } });
    onCode({ code, expiresAt });
    client.setQueryData(phoneKeys.own, own);
  });
  if (numbers.data !== undefined && list.length === 0) {
    return (
      <p data-state="empty" className="text-muted">
        Get a number first. Your phone sends its texts to it.
      </p>
    );
  }
  return (
    <form
      ref={form}
      aria-label="My own phone"
      className="flex max-w-[420px] flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        act.run();
      }}
    >
      <PhoneField
        label="Your phone"
        required
        problem={tried && e164 === null ? noNumber : undefined}
        value={typed}
        autoComplete="tel"
        onChange={setTyped}
      />
      <SelectField
        label="Number to text"
        required
        problem={tried && numberId === '' ? 'Choose one.' : undefined}
        value={numberId}
        onChange={setPicked}
      >
        {list.length !== 1 && <option value="" />}
        {list.map(({ id, e164: one }) => (
          <option key={id} value={id}>
            {numberWords(one)}
          </option>
        ))}
      </SelectField>
      {act.failure !== null && <Problem error={act.failure} />}
      <Button kind="primary" type="submit" className="w-fit" disabled={act.busy}>
        Get a code
      </Button>
    </form>
  );
}
