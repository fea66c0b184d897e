/** Calls of a number, those under way first, and a button to make one. */
import { useQuery } from '@tanstack/react-query';
import { PhoneIncoming, PhoneMissed, PhoneOutgoing } from 'lucide-react';
import { useState } from 'react';
import type { Call } from '../../../contracts/phone/calls.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed, formatElapsed } from '../../ui/now.tsx';
import { Status } from '../../ui/status.tsx';
import { CallDialog } from './call-dialog.tsx';
import { callStatus } from './phone-status.ts';
import { callWords, endingWords, numberWords } from './phone-words.ts';
import { goesOn } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';
import type { Go } from './within.ts';

export function CallList({ number, go }: { number: PhoneNumber; go: Go }) {
  const { queries } = usePhoneServices();
  const source = useQuery(queries.calls(number.id));
  const [calling, setCalling] = useState(false);
  const open = (call: string) => go({ number: number.id, show: 'calls', call });
  return (
    <section aria-label="Calls" className="min-w-0">
      <header className="flex min-h-10 items-center gap-3 border-b border-line bg-panel px-3 py-1.5">
        <p className="min-w-0 flex-1 text-meta text-muted">
          You can call people who texted or called first, or who agreed, but never after STOP.
        </p>
        <Button onClick={() => setCalling(true)}>Call somebody</Button>
      </header>
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={4} height={48} />}
        isEmpty={({ calls }) => calls.length === 0}
        empty={<Empty>Calls to and from this number appear here. The bot answers incoming calls.</Empty>}
      >
        {({ calls, nextCursor }) => (
          <ul>
            {calls
              .toSorted((a, b) => Number(goesOn(b)) - Number(goesOn(a)))
              .map((call) => (
                <Row key={call.id} call={call} onOpen={() => open(call.id)} />
              ))}
            {nextCursor !== null && <li className="p-3 text-meta text-muted">Only the newest calls are listed.</li>}
          </ul>
        )}
      </ListStates>
      {calling && (
        <CallDialog
          number={number}
          to={null}
          onClose={() => setCalling(false)}
          onConsent={() => go({ number: number.id, show: 'people' })}
          onDialled={(call) => {
            setCalling(false);
            open(call);
          }}
        />
      )}
    </section>
  );
}

function Row({ call, onOpen }: { call: Call; onOpen: () => void }) {
  const Icon = call.missed ? PhoneMissed : call.direction === 'in' ? PhoneIncoming : PhoneOutgoing;
  const { answeredAt, endedAt, endedBecause } = call;
  return (
    <li className="border-b border-line">
      <button
        type="button"
        data-row="true"
        data-call={call.id}
        onClick={onOpen}
        className="flex min-h-12 w-full min-w-0 items-center gap-3 px-3 py-1.5 text-left hover:bg-raised"
      >
        <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium tabular-nums">{numberWords(call.with)}</span>
          <span className="block truncate text-meta text-muted">
            {callWords(call)}
            {call.purpose !== null && ` · ${call.purpose}`}
            {endedBecause !== null && ` · ${endingWords(endedBecause)}`}
          </span>
        </span>
        <span className="flex flex-col items-end text-meta">
          <Status look={callStatus(call)} wire={call.status} />
          <span className="text-muted tabular-nums">
            {endedAt === null ? (
              <Elapsed since={answeredAt ?? call.startedAt} />
            ) : answeredAt === null ? (
              <Ago at={call.startedAt} />
            ) : (
              <>
                {formatElapsed(Date.parse(endedAt) - Date.parse(answeredAt))} · <Ago at={call.startedAt} />
              </>
            )}
          </span>
        </span>
      </button>
    </li>
  );
}
