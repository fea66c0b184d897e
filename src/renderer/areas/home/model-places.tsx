/** Where models can be asked, and a form for a key or a server of one's own. A key that was given is never shown again. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ModelPlace } from '../../../contracts/factory/model-routes.ts';
import { useServices } from '../../app/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';

const keyWords: Readonly<Record<ModelPlace['key'], string>> = {
  environment: 'Key from the environment',
  kept: 'Key kept, sealed',
  missing: 'No key',
  not_needed: 'Wants no key',
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

function GivePlace({ onGiven }: { onGiven: () => Promise<unknown> }) {
  const { api } = useServices();
  const [place, setPlace] = useState('anthropic');
  const [name, setName] = useState('ollama');
  const [baseUrl, setBaseUrl] = useState('');
  const [key, setKey] = useState('');
  const own = place === ownServer;
  const ready = own ? name.trim() !== '' && baseUrl.trim() !== '' : key.trim() !== '';
  const save = useAct(async () => {
    const given = key.trim() === '' ? {} : { key: key.trim() };
    await api.factory.keepModelPlace(
      own
        ? { params: { name: name.trim() }, body: { baseUrl: baseUrl.trim(), ...given } }
        : { params: { name: place }, body: given },
    );
    setKey('');
    setBaseUrl('');
    await onGiven();
  });
  const line = 'h-7 pointer-coarse:h-10';
  return (
    <form
      aria-label="A model"
      className="grid gap-3 sm:grid-cols-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) save.run();
      }}
    >
      <Field label="Whose model">
        {(ids) => (
          <select
            {...ids}
            value={place}
            onChange={(event) => setPlace(event.target.value)}
            className={`${ids.className} ${line}`}
          >
            {Object.entries(vendorWords).map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
            <option value={ownServer}>A server of your own</option>
          </select>
        )}
      </Field>
      {own && (
        <>
          <TextField
            label="Its name"
            required
            description="Stands before the slash: ollama/qwen3-coder."
            value={name}
            spellCheck={false}
            onChange={setName}
          />
          <TextField
            label="Its address"
            required
            description="It speaks OpenAI’s Chat Completions."
            value={baseUrl}
            inputMode="url"
            placeholder="http://127.0.0.1:11434/v1"
            spellCheck={false}
            onChange={setBaseUrl}
          />
        </>
      )}
      <TextField
        label="Key"
        required={!own}
        description="Sealed on this computer, and never shown again."
        type="password"
        value={key}
        spellCheck={false}
        onChange={setKey}
      />
      <div className="flex flex-col gap-2 sm:col-span-2">
        {save.failure !== null && <Problem error={save.failure} />}
        <span>
          <Button type="submit" disabled={!ready || save.busy}>
            {save.busy ? 'Saving' : 'Save'}
          </Button>
        </span>
      </div>
    </form>
  );
}
