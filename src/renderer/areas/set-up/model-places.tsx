/** Model providers, and a form for a key or a person's own server. A saved key is never shown again. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import { modelAddressProblem } from '../../../contracts/factory/model-address.ts';
import type { ModelPlace } from '../../../contracts/factory/model-routes.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';

const keyWords: Readonly<Record<ModelPlace['key'], string>> = {
  environment: 'Key from the environment',
  kept: 'Key saved, encrypted',
  missing: 'No key',
  not_needed: 'No key needed',
};
const vendorWords: Readonly<Record<string, string>> = { anthropic: 'Anthropic', openai: 'OpenAI', google: 'Google' };
const nameOf = (name: string): string => vendorWords[name] ?? name;
const ownServer = 'own';

export function ModelPlaces({ places }: { places: readonly ModelPlace[] }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const changed = () =>
    Promise.all([keys.modelPlaces, keys.doctor].map((queryKey) => client.invalidateQueries({ queryKey })));
  const forget = useAct(async (name: string) => {
    await api.factory.forgetModelPlace({ params: { name } });
    await changed();
  });
  const canForget = (one: ModelPlace): boolean => one.key === 'kept' || one.from === 'kept';
  return (
    <div className="flex flex-col gap-3">
      <ul className="rounded-control border border-line">
        {places.map((one) => (
          <li
            key={one.name}
            data-model-place={one.name}
            className="flex min-h-9 flex-wrap items-center gap-x-2 border-b border-line px-2.5 py-1 last:border-b-0"
          >
            <span className="font-medium">{nameOf(one.name)}</span>
            <span className="min-w-0 truncate text-meta text-muted">{one.where}</span>
            <span className={`ml-auto text-meta ${one.key === 'missing' ? 'text-faint' : 'text-muted'}`}>
              {keyWords[one.key]}
            </span>
            {canForget(one) && (
              <Button
                kind="quiet"
                disabled={forget.busy}
                aria-label={`Forget ${nameOf(one.name)}`}
                onClick={() => forget.run(one.name)}
              >
                Forget
              </Button>
            )}
          </li>
        ))}
      </ul>
      {forget.failure !== null && <Problem error={forget.failure} />}
      <GivePlace onGiven={changed} />
    </div>
  );
}

/** As the server takes them; undefined: nothing is wrong. */
const nameProblem = (name: string): string | undefined =>
  /^[a-z0-9][a-z0-9_-]{0,31}$/.test(name) ? undefined : 'Up to 32 lowercase letters, digits, "-" and "_", e.g. ollama.';
const keyProblem = (key: string): string | undefined =>
  /^\S{8,500}$/.test(key) ? undefined : 'A key has at least 8 characters and no spaces.';
const addressProblem = (address: string): string | undefined => {
  const problem = modelAddressProblem(address);
  return problem === null ? undefined : `${problem}.`;
};

function GivePlace({ onGiven }: { onGiven: () => Promise<unknown> }) {
  const { api } = useServices();
  const [place, setPlace] = useState('anthropic');
  const [name, setName] = useState('ollama');
  const [baseUrl, setBaseUrl] = useState('');
  const [key, setKey] = useState('');
  /** Why what was written was not kept: the server does not answer as one of models. */
  const [unheard, setUnheard] = useState<string | null>(null);
  const { form, tried, begin, toFirstProblem } = useAttempt();
  const own = place === ownServer;
  const written = { name: name.trim(), baseUrl: baseUrl.trim(), key: key.trim() };
  const ready = own ? written.name !== '' && written.baseUrl !== '' : written.key !== '';
  const problems = {
    name: own ? nameProblem(written.name) : undefined,
    baseUrl: own ? addressProblem(written.baseUrl) : undefined,
    key: written.key === '' ? undefined : keyProblem(written.key),
  };
  const save = useAct(async (check: boolean) => {
    setUnheard(null);
    const given = written.key === '' ? {} : { key: written.key };
    const { applied, heard } = await api.factory.keepModelPlace(
      own
        ? { params: { name: written.name }, body: { baseUrl: written.baseUrl, check, ...given } }
        : { params: { name: place }, body: given },
    );
    if (!applied) return setUnheard(heard?.words ?? null);
    if (heard !== null) toast(heard.words);
    setKey('');
    setBaseUrl('');
    await onGiven();
  });
  const edit = (set: (text: string) => void) => (text: string) => {
    setUnheard(null);
    set(text);
  };
  const line = 'h-7 pointer-coarse:h-10';
  return (
    <form
      ref={form}
      aria-label="Model provider"
      className="grid gap-3 sm:grid-cols-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (!ready) return;
        begin();
        if (Object.values(problems).every((one) => one === undefined)) save.run(true);
        else toFirstProblem();
      }}
    >
      <Field label="Provider">
        {(ids) => (
          <select
            {...ids}
            value={place}
            onChange={(event) => edit(setPlace)(event.target.value)}
            className={`${ids.className} ${line}`}
          >
            {Object.entries(vendorWords).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            <option value={ownServer}>Your own server</option>
          </select>
        )}
      </Field>
      {own && (
        <>
          <TextField
            label="Name"
            required
            problem={tried ? problems.name : undefined}
            description="Goes before the slash, as in ollama/qwen3-coder."
            value={name}
            spellCheck={false}
            onChange={edit(setName)}
          />
          <TextField
            label="Address"
            required
            problem={tried && written.baseUrl !== '' ? problems.baseUrl : undefined}
            description="A server with OpenAI’s Chat Completions API."
            value={baseUrl}
            inputMode="url"
            placeholder="http://127.0.0.1:11434/v1"
            spellCheck={false}
            onChange={edit(setBaseUrl)}
          />
        </>
      )}
      <TextField
        label="Key"
        required={!own}
        problem={tried ? problems.key : undefined}
        description="Encrypted on this computer and never shown again."
        type="password"
        value={key}
        spellCheck={false}
        onChange={edit(setKey)}
      />
      <div className="flex flex-col gap-2 sm:col-span-2">
        {save.failure !== null && <Problem error={save.failure} />}
        <p role="status" className="break-words empty:hidden">
          {unheard !== null && `Not saved: ${unheard}`}
        </p>
        <span className="flex flex-wrap gap-2">
          <Button type="submit" disabled={!ready || save.busy}>
            {save.busy ? (own ? 'Checking the server' : 'Saving') : unheard === null ? 'Save' : 'Check again'}
          </Button>
          {unheard !== null && (
            <Button kind="quiet" disabled={save.busy} onClick={() => save.run(false)}>
              Save anyway
            </Button>
          )}
        </span>
      </div>
    </form>
  );
}
