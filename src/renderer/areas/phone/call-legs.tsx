/** The parties of a call and how they are connected: the person, the bot, and the target of a transfer. */
import { Bot, Phone, User } from 'lucide-react';
import type { Call, CallLeg } from '../../../contracts/phone/calls.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { Status } from '../../ui/status.tsx';
import { legStatus, transferStatus } from './phone-status.ts';
import { endingWords, numberWords } from './phone-words.ts';

type Line = 'joined' | 'ringing' | 'held' | 'gone';
const lineWords: Readonly<Record<Line, string>> = {
  joined: 'connected',
  ringing: 'ringing',
  held: 'on hold',
  gone: '',
};
const lineOf = (leg: CallLeg | undefined): Line =>
  leg === undefined || leg.state === 'ended' ? 'gone' : leg.state === 'talking' ? 'joined' : leg.state;

export function CallLegs({ call }: { call: Call }) {
  const nameOf = useNameOfBot();
  const { legs, transfer } = call;
  const person = legs.find(({ role }) => role === 'person');
  const consult = legs.findLast(({ role }) => role === 'consult');
  const handedOver = transfer?.state === 'accepted';
  const over = call.status === 'ended';
  const who = <Leg icon={User} name={numberWords(person?.e164 ?? call.with)} leg={person} />;
  const bot = (
    <Box icon={Bot} name={nameOf(call.botId)}>
      {over || handedOver ? (
        <span className="text-faint">{over ? 'the call has ended' : 'has left the call'}</span>
      ) : (
        <span className="text-muted">
          {call.muted ? 'muted' : call.status === 'ringing' ? 'waiting' : 'on the call'}
        </span>
      )}
    </Box>
  );
  const taker = consult !== undefined && <Leg icon={Phone} name={numberWords(consult.e164)} leg={consult} />;
  return (
    <figure data-legs={call.status} className="flex flex-col gap-2">
      <figcaption className="sr-only">Who is on the call</figcaption>
      <div className="flex items-stretch max-sm:flex-col">
        {handedOver && taker !== false ? (
          <>
            {who}
            <Joint line={over ? 'gone' : 'joined'} />
            {taker}
          </>
        ) : (
          <>
            {who}
            <Joint line={lineOf(person)} />
            {bot}
            {taker !== false && (
              <>
                <Joint line={lineOf(consult)} />
                {taker}
              </>
            )}
          </>
        )}
      </div>
      {handedOver && bot}
      {transfer !== null && (
        <p className="flex flex-wrap items-center gap-x-2 text-muted">
          {transfer.mode === 'warm' ? 'Warm' : 'Cold'} transfer to {numberWords(transfer.to)}:
          <Status look={transferStatus[transfer.state]} wire={transfer.state} />
        </p>
      )}
    </figure>
  );
}

function Leg({ icon, name, leg }: { icon: typeof User; name: string; leg: CallLeg | undefined }) {
  return (
    <Box icon={icon} name={name}>
      {leg === undefined ? (
        <span className="text-faint">not on the call</span>
      ) : (
        <>
          <Status look={legStatus[leg.state]} wire={leg.state} />
          {leg.endedBecause !== null && <span className="text-muted">{endingWords(leg.endedBecause)}</span>}
        </>
      )}
    </Box>
  );
}

function Box({ icon: Icon, name, children }: { icon: typeof User; name: string; children: React.ReactNode }) {
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-0.5 rounded-panel border border-line bg-panel px-3 py-2 sm:max-w-64">
      <span className="flex items-center gap-2">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <span className="truncate font-medium tabular-nums">{name}</span>
      </span>
      <span className="flex flex-wrap gap-x-2 text-meta">{children}</span>
    </div>
  );
}

/** Solid where they hear each other, broken where they do not. */
function Joint({ line }: { line: Line }) {
  const drawn =
    line === 'gone' ? 'border-line' : line === 'joined' ? 'border-accent' : 'border-dashed border-line-strong';
  return (
    <div className="flex w-24 shrink-0 flex-col items-center justify-center text-meta text-muted max-sm:h-9 max-sm:w-full max-sm:flex-row max-sm:gap-2">
      <span
        aria-hidden="true"
        className={`w-full border-t-2 ${drawn} max-sm:h-full max-sm:w-0 max-sm:border-t-0 max-sm:border-l-2`}
      />
      <span className="max-sm:order-last">{lineWords[line]}</span>
    </div>
  );
}
