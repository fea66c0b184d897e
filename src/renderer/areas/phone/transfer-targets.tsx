/** People to whom a bot's calls may be transferred. Adding one also records a consent to be called. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useState } from 'react';
import type { TransferTarget } from '../../../contracts/phone/calls.ts';
import { maxTransferTargets } from '../../../contracts/phone/values.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { PhoneField } from './phone-field.tsx';
import { noNumber, numberWords, readNumber } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';

export function TransferTargets({ botId }: { botId: string }) {
  const { api, queries } = usePhoneServices();
  const client = useQueryClient();
  const nameOf = useNameOfBot();
  const source = useQuery(queries.botConfig(botId));
  const save = useAct(async (transferTargets: readonly TransferTarget[]) => {
    const config = await api.phone.calls.putVoiceBotConfig({
      params: { botId },
      body: { transferTargets: [...transferTargets] },
    });
    client.setQueryData(phoneKeys.botConfig(botId), config);
  });
  return (
    <Card title="Transfers" aside={`of ${nameOf(botId)}`}>
      <ListStates source={source} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
        {({ transferTargets }) => (
          <>
            {transferTargets.length === 0 ? (
              <p data-state="empty" className="p-3 text-muted">
                People to whom the bot may transfer calls appear here. It transfers to nobody else.
              </p>
            ) : (
              <ul aria-label="Transfer targets">
                {transferTargets.map((one) => (
                  <li key={one.e164} className="flex items-center gap-2 border-b border-line px-3 py-1.5">
                    <span className="min-w-0 flex-1">
                      <span className="block truncate">{one.label}</span>
                      <span className="text-meta text-muted tabular-nums">{numberWords(one.e164)}</span>
                    </span>
                    <IconButton
                      label={`Remove ${one.label}`}
                      disabled={save.busy}
                      onClick={() => save.run(transferTargets.filter(({ e164 }) => e164 !== one.e164))}
                    >
                      <X aria-hidden="true" />
                    </IconButton>
                  </li>
                ))}
              </ul>
            )}
            {save.failure !== null && <Problem error={save.failure} />}
            {transferTargets.length < maxTransferTargets && (
              <Add
                taken={transferTargets}
                busy={save.busy}
                onAdd={(target) => save.run([...transferTargets, target])}
              />
            )}
          </>
        )}
      </ListStates>
    </Card>
  );
}

function Add({
  taken,
  busy,
  onAdd,
}: {
  taken: readonly TransferTarget[];
  busy: boolean;
  onAdd: (target: TransferTarget) => void;
}) {
  const [label, setLabel] = useState('');
  const [typed, setTyped] = useState('');
  const [tried, setTried] = useState(false);
  const e164 = readNumber(typed);
  const known = taken.some((one) => one.e164 === e164);
  return (
    <form
      aria-label="Add a transfer target"
      className="flex flex-col gap-2 p-3"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (e164 === null || known || label.trim() === '') return;
        onAdd({ e164, label: label.trim() });
        setLabel('');
        setTyped('');
        setTried(false);
      }}
    >
      <div className="grid grid-cols-2 gap-2">
        <TextField
          label="Name"
          problem={tried && label.trim() === '' ? 'Required.' : undefined}
          value={label}
          maxLength={100}
          onChange={setLabel}
        />
        <PhoneField
          problem={tried && e164 === null ? noNumber : known ? 'Already in the list.' : undefined}
          value={typed}
          onChange={setTyped}
        />
      </div>
      <Button type="submit" className="w-fit" disabled={busy}>
        Add
      </Button>
    </form>
  );
}
