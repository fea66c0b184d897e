/** One call: who is on it and how they are connected, the controls while it is under way, and how it ended. */
import { useQuery } from '@tanstack/react-query';
import { ArrowRightLeft, Grid3x3, Mic, MicOff, Pause, PhoneOff, Play } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Call } from '../../../contracts/phone/calls.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Action } from '../../base/actions.ts';

import { OpenBar } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { useNarrow } from '../../base/use-narrow.ts';
import { Button } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed, formatElapsed } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Status } from '../../ui/status.tsx';
import { useAct } from '../../ui/use-act.ts';
import { CallLegs } from './call-legs.tsx';
import { NoNumber } from './number-page.tsx';
import { callStatus } from './phone-status.ts';
import { basisWords, callWords, endingWords, numberWords } from './phone-words.ts';
import { goesOn } from './queries.ts';
import { TransferDialog } from './transfer-dialog.tsx';
import { useIsDemo, usePhoneServices, useTouchNumber } from './use-phone-services.ts';
import type { WithinNumber } from './within.ts';

export function CallPage({ id, number, source, go, onBack, call }: WithinNumber & { call: string }) {
  const { queries } = usePhoneServices();
  const narrow = useNarrow();
  const calls = useQuery({ ...queries.calls(id), enabled: number !== undefined });
  const one = calls.data?.calls.find((known) => known.id === call);
  return (
    <>
      <OpenBar
        back="Back to the calls"
        onBack={onBack}
        within={
          number === undefined || narrow
            ? undefined
            : { name: numberWords(number.e164), onOpen: () => go({ number: id, show: 'calls' }) }
        }
        title={one === undefined ? 'Call' : `Call with ${numberWords(one.with)}`}
      >
        <span role="status">{one !== undefined && <Status look={callStatus(one)} wire={one.status} />}</span>
      </OpenBar>
      {number === undefined ? (
        <NoNumber source={source} onBack={onBack} />
      ) : (
        <ListStates
          source={calls}
          skeleton={<SkeletonRows count={6} />}
          isEmpty={() => one === undefined}
          empty={
            <Empty action={<Button onClick={onBack}>Show the calls</Button>}>
              This call is not among the number’s newest calls.
            </Empty>
          }
        >
          {() => one !== undefined && <Body number={number} call={one} onHandsets={() => go({ page: 'handsets' })} />}
        </ListStates>
      )}
    </>
  );
}

function Body({ number, call, onHandsets }: { number: PhoneNumber; call: Call; onHandsets: () => void }) {
  const nameOf = useNameOfBot();
  const isDemo = useIsDemo();
  const { answeredAt, endedAt, endedBecause, purpose, basis } = call;
  return (
    <div className="flex max-w-[860px] flex-col gap-4 p-4">
      <CallLegs call={call} />
      {goesOn(call) && <Controls number={number} call={call} />}
      {goesOn(call) && isDemo && (
        <p className="flex flex-wrap items-center gap-2 text-muted">
          In the demo, people answer calls on a handset.
          <Button onClick={onHandsets}>Open the handsets</Button>
        </p>
      )}
      <dl className="flex flex-col gap-1">
        <Fact name="Direction">{callWords(call)}</Fact>
        <Fact name="Bot">{nameOf(call.botId)}</Fact>
        {purpose !== null && <Fact name="Purpose">{purpose}</Fact>}
        {basis !== null && <Fact name="Allowed because">{basisWords[basis]}</Fact>}
        <Fact name="Started">
          <Ago at={call.startedAt} />
        </Fact>
        <Fact name="Talk time">
          {answeredAt === null ? (
            <span className="text-muted">not answered</span>
          ) : endedAt === null ? (
            <Elapsed since={answeredAt} />
          ) : (
            <span className="tabular-nums">{formatElapsed(Date.parse(endedAt) - Date.parse(answeredAt))}</span>
          )}
        </Fact>
        {endedBecause !== null && <Fact name="Ended">{endingWords(endedBecause)}</Fact>}
        <Fact name="Id">
          <ShortId id={call.id} />
        </Fact>
      </dl>
    </div>
  );
}

const keypad = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'] as const;
type Simple = 'hold' | 'resume' | 'mute' | 'unmute' | 'hangup';

function Controls({ number, call }: { number: PhoneNumber; call: Call }) {
  const { api } = usePhoneServices();
  const touch = useTouchNumber();
  const [keys, setKeys] = useState(false);
  const [pressed, setPressed] = useState('');
  const [transferring, setTransferring] = useState(false);
  const { status, muted } = call;
  // Who was handed over talks without the bot: only hanging up is left.
  const talks = (status === 'active' || status === 'held') && call.transfer?.state !== 'accepted';
  const params = { callId: call.id };
  const act = useAct(async (action: Simple) => {
    await api.phone.calls.controlPhoneCall({ params, body: { action } });
    touch(number.id, 'calls');
  });
  const press = useAct(async (digits: string) => {
    await api.phone.calls.controlPhoneCall({ params, body: { action: 'dtmf', digits } });
    setPressed((old) => (old + digits).slice(-20));
  });
  const { run } = act;
  const actions = useMemo<readonly Action[]>(() => {
    const ofCall = { group: 'Phone', changes: 'at once' } as const;
    const list: Action[] = [{ ...ofCall, id: 'hang-up', title: 'Hang up', keys: 'x', run: () => run('hangup') }];
    if (!talks) return list;
    const held = status === 'held';
    return [
      ...list,
      {
        ...ofCall,
        id: 'hold',
        title: held ? 'Resume the call' : 'Put the call on hold',
        keys: 'h',
        run: () => run(held ? 'resume' : 'hold'),
      },
      {
        ...ofCall,
        id: 'mute',
        title: muted ? 'Unmute the bot' : 'Mute the bot',
        keys: 'm',
        run: () => run(muted ? 'unmute' : 'mute'),
      },
      { id: 'transfer', title: 'Transfer the call', group: 'Phone', keys: 't', run: () => setTransferring(true) },
    ];
  }, [run, talks, status, muted]);
  useAddActions(actions);
  const failure = act.failure ?? press.failure;
  return (
    <section aria-label="Actions" className="flex flex-col gap-3">
      <div role="toolbar" aria-label="Call controls" className="grid grid-cols-2 gap-1.5 sm:flex">
        <Button
          disabled={!talks || act.busy}
          aria-keyshortcuts="h"
          onClick={() => run(status === 'held' ? 'resume' : 'hold')}
        >
          {status === 'held' ? <Play className={icon} /> : <Pause className={icon} />}
          {status === 'held' ? 'Resume' : 'Hold'}
        </Button>
        <Button disabled={!talks || act.busy} aria-keyshortcuts="m" onClick={() => run(muted ? 'unmute' : 'mute')}>
          {muted ? <Mic className={icon} /> : <MicOff className={icon} />}
          {muted ? 'Unmute' : 'Mute'}
        </Button>
        <Button disabled={!talks} aria-expanded={keys} onClick={() => setKeys(!keys)}>
          <Grid3x3 className={icon} />
          Keypad
        </Button>
        <Button disabled={!talks} aria-keyshortcuts="t" onClick={() => setTransferring(true)}>
          <ArrowRightLeft className={icon} />
          Transfer
        </Button>
        <Button kind="danger" disabled={act.busy} aria-keyshortcuts="x" onClick={() => run('hangup')}>
          <PhoneOff className={icon} />
          Hang up
        </Button>
      </div>
      {keys && talks && (
        <div className="flex w-fit flex-col gap-1.5">
          <fieldset className="grid w-fit grid-cols-3 gap-1.5">
            <legend className="sr-only">Keypad</legend>
            {keypad.map((key) => (
              <Button key={key} disabled={press.busy} onClick={() => press.run(key)} className="w-12 font-mono">
                {key}
              </Button>
            ))}
          </fieldset>
          <p role="status" className="min-h-5 font-mono text-code text-muted">
            {pressed}
          </p>
        </div>
      )}
      {failure !== null && <Problem error={failure} />}
      {transferring && <TransferDialog number={number} call={call} onClose={() => setTransferring(false)} />}
    </section>
  );
}

const icon = 'size-3.5';
