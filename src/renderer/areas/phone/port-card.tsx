/** A port's progress, its problem, and the one field that fixes it. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PhoneNumber, Port } from '../../../contracts/phone/number.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Status } from '../../ui/status.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { portOf, portStatus } from './phone-status.ts';
import { isOver, portFields, portFieldWord, portWords } from './phone-words.ts';
import { PortFields } from './port-fields.tsx';
import { detailsOf, emptyPort, type PortField, problemsOfPort, wantedOf } from './port-form.ts';
import { useIsDemo, usePhoneServices, usePutNumber } from './use-phone-services.ts';

export function PortCard({ number, given }: { number: PhoneNumber; given: Port }) {
  const { queries } = usePhoneServices();
  const isDemo = useIsDemo();
  const source = useQuery({ ...queries.port(number.id), enabled: given.state !== 'cancelled' });
  const port = source.data ?? given;
  const [correcting, setCorrecting] = useState(false);
  const wanted = [...wantedOf(port).keys()];
  const general = port.problems.filter(({ field }) => field === null);
  return (
    <Card title="Port" aside={<Status look={portStatus(port)} wire={`${port.state}, texts ${port.messaging}`} />}>
      <div className="flex flex-col gap-2 p-3" data-port={port.state}>
        <p>
          {portWords(port)}{' '}
          {port.state === 'foc-date-confirmed' && port.readyOn !== null && (
            <time dateTime={port.readyOn}>
              {new Date(port.readyOn).toLocaleDateString(undefined, { dateStyle: 'long' })}
            </time>
          )}
        </p>
        {port.problems.map(({ code, field, text }) => (
          <Trouble key={`${code} ${field}`} of="port" needsPerson={field !== null}>
            <span title={code}>{text}</span>
          </Trouble>
        ))}
        {wanted.length > 0 && !isOver(port) && (
          <Button kind="primary" className="w-fit" onClick={() => setCorrecting(true)}>
            {wanted.length === 1 ? `Correct the ${portFieldWord(wanted[0] ?? '')}` : 'Add the missing details'}
          </Button>
        )}
        {general.length > 0 && wanted.length === 0 && !isOver(port) && (
          <Button className="w-fit" onClick={() => setCorrecting(true)}>
            Change the details
          </Button>
        )}
        {source.error !== null && (
          <Problem error={source.error} failures={source.errorUpdateCount - 1} onRetry={() => void source.refetch()} />
        )}
        {isDemo && waitsForOther(port) && <OtherCarrier port={port} onDone={() => void source.refetch()} />}
      </div>
      {correcting && <CorrectPort number={number} port={port} onClose={() => setCorrecting(false)} />}
    </Card>
  );
}

function CorrectPort({ number, port, onClose }: { number: PhoneNumber; port: Port; onClose: () => void }) {
  const { api } = usePhoneServices();
  const put = usePutNumber();
  const [draft, setDraft] = useState(emptyPort);
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const wanted = wantedOf(port);
  const wrong = problemsOfPort(draft);
  const details = detailsOf(draft);
  const refused = [...wanted].flatMap(([name, why]): readonly [string, string][] =>
    // A rewritten value is not the refused one.
    why === null || draft[name as PortField] !== '' ? [] : [[name, why]],
  );
  const problems = { ...Object.fromEntries(refused), ...(tried ? wrong : {}) };
  const others = portFields.map(({ name }) => name).filter((name) => !wanted.has(name));
  const send = useAct(async () => {
    begin();
    if (Object.keys(wrong).length > 0 || Object.keys(details).length === 0) return toFirstProblem();
    const answer = await api.phone.numbers.correctPhonePort({ params: { id: number.id }, body: { details } });
    put(answer.number, { port: answer.port });
    onClose();
  });
  const fields = {
    draft,
    problems,
    onChange: (change: Partial<typeof draft>) => setDraft((old) => ({ ...old, ...change })),
  };
  return (
    <ActDialog
      title={wanted.size === 1 ? `Correct the ${portFieldWord([...wanted.keys()][0] ?? '')}` : 'Complete the port'}
      description="Empty fields keep their current value. The order is submitted again at once."
      label="Submit"
      busyLabel="Submitting"
      act={send}
      ready={Object.keys(details).length > 0}
      onClose={onClose}
    >
      <ActForm form={form} act={{ run: () => Object.keys(details).length > 0 && send.run() }}>
        <div className={`grid gap-3 ${wanted.size > 2 ? 'sm:grid-cols-2' : ''}`}>
          <PortFields names={[...wanted.keys()]} needed={port.missing} {...fields} />
        </div>
        <details open={wanted.size === 0 || undefined}>
          <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">Other details</summary>
          <div className="mt-2 grid gap-3 border-l border-line-strong pl-3 sm:grid-cols-2">
            <PortFields names={others} {...fields} />
          </div>
        </details>
      </ActForm>
    </ActDialog>
  );
}

const looksAtPin: readonly Port['state'][] = ['in-process', 'submitted'];

/** Nobody else has to do anything now. */
const waitsForOther = (port: Port): boolean =>
  looksAtPin.includes(port.state) ||
  port.state === 'foc-date-confirmed' ||
  (port.state === 'ported' && portOf({ port }) !== null);

/** In the demo the person is the other carrier, too. */
function OtherCarrier({ port, onDone }: { port: Port; onDone: () => void }) {
  const { api } = usePhoneServices();
  const settle = useAct(async (answer: 'wrong_pin' | 'next') => {
    await api.phone.demo.settleDemoPort({ params: { orderId: port.orderId }, body: { answer } });
    onDone();
  });
  return (
    <div className="flex flex-col gap-1 border-t border-line pt-2">
      <p className="text-meta text-muted">You are the other carrier in this demo:</p>
      <div className="flex flex-wrap gap-2">
        <Button disabled={settle.busy || !looksAtPin.includes(port.state)} onClick={() => settle.run('wrong_pin')}>
          Refuse the PIN
        </Button>
        <Button disabled={settle.busy} onClick={() => settle.run('next')}>
          Continue
        </Button>
      </div>
      {settle.failure !== null && <Problem error={settle.failure} />}
    </div>
  );
}
