/**
 * Pairs a computer by the code that it shows. Approving gives that computer the reach of the person's account, so the page says which one asks, from
 * where, and waits for a person.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, Monitor } from 'lucide-react';
import { useState } from 'react';
import type { Pairing } from '../../../contracts/link/pairings.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, formatElapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { useAct } from '../../ui/use-act.ts';

export function PairPage() {
  // The person types the code that their computer shows: a link with a code in it could come from anybody.
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <main className="min-w-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-[560px] flex-col gap-4 p-4 sm:p-6">
        <h1 className="text-page font-semibold">Pair a computer</h1>
        {typed === null ? (
          <CodeForm onCode={setTyped} />
        ) : (
          <Asked key={typed} code={typed} onAnother={() => setTyped(null)} />
        )}
      </div>
    </main>
  );
}

function CodeForm({ onCode }: { onCode: (code: string) => void }) {
  const [text, setText] = useState('');
  const code = writtenCode(text);
  return (
    <Card title="Code on the computer">
      <form
        className="flex flex-wrap items-end gap-2 p-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (code.length === 9) onCode(code);
        }}
      >
        <div className="min-w-48 flex-1">
          <Field
            label="Code"
            description="Type the eight letters that your computer shows. They are valid for ten minutes."
          >
            {(ids) => (
              <input
                {...ids}
                value={code}
                placeholder="ABCD-EFGH"
                autoComplete="one-time-code"
                autoCapitalize="characters"
                spellCheck={false}
                onChange={(event) => setText(event.target.value)}
                className={`${ids.className} h-10 font-mono text-title tracking-[0.12em]`}
              />
            )}
          </Field>
        </div>
        <Button kind="primary" type="submit" disabled={code.length !== 9} className="mb-5">
          Continue
        </Button>
      </form>
    </Card>
  );
}

function Asked({ code, onAnother }: { code: string; onAnother: () => void }) {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const pairing = useQuery({ ...queries.pairingOf(code), staleTime: 0, gcTime: 0 });
  const decide = useAct(async (decision: 'approve' | 'deny') => {
    const call = decision === 'approve' ? api.computers.approvePairing : api.computers.denyPairing;
    client.setQueryData(keys.pairingOf(code), await call({ params: { code } }));
    void client.invalidateQueries({ queryKey: keys.computers });
  });

  if (pairing.data === undefined) {
    return (
      <Card title={`Code ${code}`}>
        {pairing.error === null ? (
          <SkeletonRows count={4} />
        ) : (
          <Problem error={pairing.error}>
            <Button onClick={onAnother}>Enter another code</Button>
          </Problem>
        )}
      </Card>
    );
  }
  const { status, name, known } = pairing.data;
  if (status !== 'pending') return <Decided pairing={pairing.data} />;
  return (
    <Card title={`${name} asks to pair`}>
      <div className="flex flex-col gap-3 p-3">
        <About pairing={pairing.data} code={code} />
        <p className="text-muted">
          {known
            ? 'It is already paired with your account. Approving gives it new keys and revokes the old ones.'
            : 'Once approved, it acts for you: it reports what its bots do and ask, anyone using it answers in your name, and your other computers may start bots on it.'}{' '}
          Approve only if you see this code on it now.
        </p>
        {pairing.data.differs === true && (
          <p role="alert" className="text-need">
            It asks from a different address than yours. That is normal for a server or a phone, and where this cloud is
            in your own network. If you both reach the cloud over the internet from one network, deny it.
          </p>
        )}
        {decide.failure !== null && <Problem error={decide.failure} />}
        <div className="flex gap-2 max-sm:[&>*]:flex-1">
          <Button disabled={decide.busy} onClick={() => decide.run('deny')}>
            Deny
          </Button>
          <Button kind="primary" disabled={decide.busy} onClick={() => decide.run('approve')}>
            Approve {name}
          </Button>
        </div>
      </div>
    </Card>
  );
}

function About({ pairing, code }: { pairing: Pairing; code: string }) {
  const now = useNow();
  const [until] = useState(() => Date.now() + (pairing.remainingMs ?? Date.parse(pairing.expiresAt) - Date.now()));
  const left = until - now;
  return (
    <dl className="flex flex-col gap-1">
      <Fact name="Code">
        <span className="font-mono text-title tracking-[0.12em]">{code}</span>
      </Fact>
      <Fact name="Computer">
        <span className="inline-flex items-center gap-1.5">
          <Monitor className="size-3.5 text-muted" aria-hidden="true" /> {pairing.name}
        </span>
      </Fact>
      <Fact name="Id">
        <ShortId id={pairing.computerId} />
      </Fact>
      <Fact name="Asking from">
        <span className="font-mono text-code">{pairing.from}</span>
      </Fact>
      {pairing.differs === true && (
        <Fact name="Your address">
          <span className="font-mono text-code">{pairing.here}</span>
        </Fact>
      )}
      <Fact name="Gantry">{pairing.version}</Fact>
      <Fact name="Asked">
        <Ago at={pairing.requestedAt} />; <span className="tabular-nums">{formatElapsed(left)} left</span>
      </Fact>
    </dl>
  );
}

function Decided({ pairing }: { pairing: Pairing }) {
  const approved = pairing.status === 'approved';
  return (
    <Card title={pairing.name}>
      <div role="status" className="flex flex-col items-start gap-2 p-3">
        <p className="flex items-center gap-2">
          <CircleCheck className="size-4 shrink-0 text-muted" aria-hidden="true" />
          {approved ? `${pairing.name} is approved.` : `${pairing.name} was denied.`}
        </p>
        <p className="text-muted">
          {approved
            ? 'It connects within seconds. You can close this page.'
            : 'It received no keys. If it was yours, start pairing there again.'}
        </p>
        <Link to="/settings/computers" className="text-accent underline">
          View your computers
        </Link>
      </div>
    </Card>
  );
}

/** A pairing code as it is written: eight capital letters with a dash in the middle, however it was typed. Pure. */
export function writtenCode(text: string): string {
  const letters = text
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .slice(0, 8);
  return letters.length > 4 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters;
}
