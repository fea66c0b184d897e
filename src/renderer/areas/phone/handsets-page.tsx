/** The simulated carrier: its speed, what it does next, and the handsets of the people, which are held here. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus, StepForward } from 'lucide-react';
import { useState } from 'react';
import { type DemoPhone, demoSpeeds } from '../../../contracts/phone/demo.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { formatElapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { Ways } from '../../ui/ways.tsx';
import { HandsetPanel } from './handset.tsx';
import { PhoneField } from './phone-field.tsx';
import { noNumber, plainWord, readNumber } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';

export function HandsetsPage({ numbers, onBack }: { numbers: readonly PhoneNumber[]; onBack: () => void }) {
  const { queries } = usePhoneServices();
  const source = useQuery(queries.demoPhone);
  const [adding, setAdding] = useState(false);
  return (
    <>
      <OpenBar back="Back to the list" onBack={onBack} title="Handsets">
        <Button icon={Plus} onClick={() => setAdding(true)}>
          Add handset
        </Button>
      </OpenBar>
      <ListStates source={source} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
        {(demo) => (
          <>
            <Speed demo={demo} />
            {demo.handsets.length === 0 ? (
              <Empty action={<Button onClick={() => setAdding(true)}>Add a handset</Button>}>
                Simulated phones that text and call your numbers appear here.
              </Empty>
            ) : (
              <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,300px),1fr))] gap-4 p-4">
                {demo.handsets.map((handset) => (
                  <HandsetPanel key={handset.e164} handset={handset} numbers={numbers} />
                ))}
              </ul>
            )}
            <Endings endings={demo.endings} />
          </>
        )}
      </ListStates>
      {adding && <AddHandset onClose={() => setAdding(false)} />}
    </>
  );
}

function Speed({ demo }: { demo: DemoPhone }) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const now = useNow();
  const { speed, waiting } = demo;
  const set = useAct(async (body: { speed?: DemoPhone['speed']; step?: true }) => {
    client.setQueryData(phoneKeys.demo, await api.phone.demo.setDemoSpeed({ body }));
    void client.invalidateQueries({ queryKey: phoneKeys.all });
  });
  const next = waiting[0];
  return (
    <section aria-label="Carrier speed" className="border-b border-line bg-panel px-3 py-1.5">
      <div className="flex min-h-7 flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-muted">Carrier speed</span>
        <Ways
          label="Speed"
          start
          value={speed}
          ways={demoSpeeds.map((key) => ({ key, word: plainWord(key) }))}
          onChange={(to) => set.run({ speed: to })}
        />
        {speed === 'paused' && (
          <Button
            icon={StepForward}
            disabled={set.busy || waiting.length === 0}
            onClick={() => set.run({ step: true })}
          >
            Step
          </Button>
        )}
        <p role="status" className="min-w-0 flex-1 basis-52 text-meta text-muted">
          {next === undefined ? (
            'Nothing is waiting.'
          ) : (
            <>
              Next: {next.what}
              {next.dueAt !== null && speed !== 'paused' && (
                <span className="tabular-nums"> in {formatElapsed(Date.parse(next.dueAt) - now)}</span>
              )}
              {waiting.length > 1 && `, and ${waiting.length - 1} more`}
            </>
          )}
        </p>
      </div>
      {set.failure !== null && <Problem error={set.failure} />}
    </section>
  );
}

function Endings({ endings }: { endings: DemoPhone['endings'] }) {
  if (endings.length === 0) return null;
  return (
    <details className="border-t border-line p-4">
      <summary className="w-fit rounded-control text-muted">Test numbers</summary>
      <dl className="grid max-w-[640px] grid-cols-[80px_1fr] gap-x-3 gap-y-1 pt-2">
        {endings.map(({ suffix, what }) => (
          <div key={suffix} className="contents">
            <dt className="font-mono text-code">…{suffix}</dt>
            <dd className="text-muted">{what}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** One more person with a phone, in the demo. */
function AddHandset({ onClose }: { onClose: () => void }) {
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
