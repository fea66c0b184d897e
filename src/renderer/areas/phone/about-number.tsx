/** Details of a number; moving it to another bot, and giving it up. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { useBots, useFloors } from '../../base/floors.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Fact } from '../../ui/fact.tsx';
import { Ago } from '../../ui/now.tsx';
import { useAct } from '../../ui/use-act.ts';
import { BotField, holderOf } from './bot-field.tsx';
import { portOf } from './phone-status.ts';
import { costWords, kindWords, numberWords } from './phone-words.ts';
import { usePhoneServices, usePutNumber } from './use-phone-services.ts';

export function AboutNumber({ number, onGone }: { number: PhoneNumber; onGone: () => void }) {
  const { api } = usePhoneServices();
  const put = usePutNumber();
  const nameOf = useNameOfBot();
  const places = useFloors().map((floor) => floor.place);
  const [open, setOpen] = useState<'move' | 'release' | null>(null);
  const failed = number.port === null ? number.problem !== null : number.port.state === 'cancelled';
  const computer = places.find(({ id }) => id === number.runtimeId)?.name;
  return (
    <Card title="This number">
      <dl className="flex flex-col gap-1 px-3 py-2">
        <Fact name="Bot">{nameOf(number.botId)}</Fact>
        <Fact name="Computer">{computer ?? <span className="text-muted">no longer one of yours</span>}</Fact>
        <Fact name="Kind">{kindWords(number)}</Fact>
        <Fact name="Cost">
          {number.monthlyCost === null ? (
            <span className="text-muted">unknown</span>
          ) : (
            <span className="tabular-nums">{costWords(number.monthlyCost)}</span>
          )}
        </Fact>
        <Fact name="Carrier">{number.carrier}</Fact>
        <Fact name="Added">
          <Ago at={number.createdAt} />
        </Fact>
      </dl>
      <div className="flex flex-wrap gap-2 border-t border-line px-3 py-2">
        {!failed && <Button onClick={() => setOpen('move')}>Move</Button>}
        <Button kind="danger" onClick={() => setOpen('release')}>
          {failed ? 'Remove' : 'Release'}
        </Button>
      </div>
      {open === 'move' && <MoveDialog number={number} onClose={() => setOpen(null)} />}
      {open === 'release' && (
        <ConfirmDialog
          title={`${failed ? 'Remove' : 'Release'} ${numberWords(number.e164)}?`}
          description={failed ? 'You never got this number.' : 'You give it up for good. Somebody else may get it.'}
          label={failed ? 'Remove' : 'Release'}
          onClose={() => setOpen(null)}
          act={async () => {
            await api.phone.numbers.releasePhoneNumber({ params: { id: number.id } });
            put(number, { gone: true });
            onGone();
          }}
        >
          {failed ? (
            <p>This removes it from the list. There is nothing to end and nothing to pay.</p>
          ) : (
            <Ends number={number} />
          )}
        </ConfirmDialog>
      )}
    </Card>
  );
}

/** What goes with it, in full. */
function Ends({ number }: { number: PhoneNumber }) {
  const { queries } = usePhoneServices();
  const { id } = number;
  const registration = useQuery(queries.registration(id, number.registered)).data;
  const invites = useQuery(queries.invites(id)).data?.filter(({ usedAt }) => usedAt === null).length ?? 0;
  const conversations = useQuery(queries.conversations(id)).data;
  const people = conversations?.conversations.length ?? 0;
  return (
    <ul data-plan="release" className="list-disc pl-5">
      <li>Texts and calls to it no longer arrive. Its relay address is revoked at once.</li>
      <li>
        {number.monthlyCost === null ? 'Its fees end.' : `Its fee of ${costWords(number.monthlyCost)} ends.`}
        {registration?.campaignId != null && ' So do the fees of its registration.'}
      </li>
      {portOf(number) !== null && <li>Its port is cancelled.</li>}
      {invites > 0 && <li>{countWords(invites, 'open invite')} can no longer be used.</li>}
      {people > 0 && (
        <li>
          Messages from {countWords(people, 'person', 'people')}
          {conversations?.nextCursor == null ? '' : ' or more'} stay in the threads of your bots.
        </li>
      )}
      <li>STOPs sent to it stay on record.</li>
    </ul>
  );
}

function MoveDialog({ number, onClose }: { number: PhoneNumber; onClose: () => void }) {
  const { api } = usePhoneServices();
  const put = usePutNumber();
  const bots = useBots();
  const nameOf = useNameOfBot();
  const [botId, setBotId] = useState('');
  const bot = bots.find(({ id }) => id === botId);
  const same = bot !== undefined && bot.id === number.botId && bot.place.id === number.runtimeId;
  const move = useAct(async () => {
    if (bot === undefined) return;
    const answer = await api.phone.numbers.movePhoneNumber({
      params: { id: number.id },
      body: holderOf(bot),
    });
    put(answer.number);
    onClose();
  });
  return (
    <ActDialog
      title={`Move ${numberWords(number.e164)}`}
      description={`${nameOf(number.botId)} has it now. The new bot can be on another computer.`}
      label="Move"
      busyLabel="Moving"
      act={move}
      ready={bot !== undefined && !same}
      onClose={onClose}
    >
      <BotField
        value={botId}
        problem={same ? 'This bot already has the number.' : undefined}
        says="It gets new texts and calls."
        onChange={setBotId}
      />
      <ul className="list-disc pl-5 text-muted">
        <li>Open invites, consent, opt-outs and registration move with the number.</li>
        <li>Past conversations stay with {nameOf(number.botId)}.</li>
      </ul>
    </ActDialog>
  );
}
