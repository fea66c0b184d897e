/** Creates an API key: its name, scopes and expiry. Then shows its text, once. */
import { useState } from 'react';
import type { Scope } from '../../../contracts/common/route.ts';
import { useServices } from '../../base/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { Command } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { scopeWords } from '../../ui/scope-words.ts';
import { SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { grantable, isToolPattern, lifetimes } from './key-words.ts';

export function CreateKeyDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const { api } = useServices();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['agents:read']);
  const [days, setDays] = useState<number | null>(90);
  const [secret, setSecret] = useState<string | null>(null);
  const [tools, setTools] = useState('');
  const [search, setSearch] = useState(false);
  const names = tools.split(/[\s,]+/).filter((each) => each !== '');
  const wrong = names.find((each) => !isToolPattern(each));
  const ready = name.trim() !== '' && scopes.length > 0 && wrong === undefined;
  const create = useAct(async () => {
    const made = await api.identity.createKey({
      body: {
        name: name.trim(),
        scopes: [...scopes],
        ...(days === null ? {} : { expiresInDays: days }),
        ...(names.length === 0 ? {} : { tools: { names, ...(search ? { search } : {}) } }),
      },
    });
    setSecret(made.secret);
    onCreated();
  });

  if (secret !== null) {
    return (
      <Dialog
        open
        onOpenChange={(open) => !open && onClose()}
        title="Copy the key now"
        description="Gantry keeps only a fingerprint of it and cannot show it again."
        footer={
          <Button kind="primary" onClick={onClose}>
            I have it
          </Button>
        }
      >
        <div className="flex flex-col items-start gap-3" data-secret="true">
          <Command text={secret} />
          <p className="text-muted">
            Send it as <code className="font-mono text-code text-ink">Authorization: Bearer …</code>. If it is lost or
            somebody else has seen it, revoke it and create another.
          </p>
        </div>
      </Dialog>
    );
  }

  return (
    <ActDialog
      title="Create an API key"
      description="Give it only the permissions that its program needs."
      label="Create"
      act={create}
      ready={ready}
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) create.run();
        }}
      >
        <TextField
          label="Name"
          required
          description="The program that will use this key, e.g. ci."
          value={name}
          maxLength={64}
          onChange={setName}
        />
        <fieldset>
          <legend className="pb-1 font-medium">Permissions</legend>
          {grantable.map((scope) => (
            <Check
              key={scope}
              on={scopes.includes(scope)}
              onChange={(on) => setScopes(on ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
              className="min-h-7 pointer-coarse:min-h-10"
            >
              <span className="min-w-0 flex-1">{scopeWords[scope]}</span>
              <code className="font-mono text-meta text-muted">{scope}</code>
            </Check>
          ))}
        </fieldset>
        <TextField
          label="Tools"
          description="Names separated by spaces, e.g. file.read tracker.*. Leave empty for all tools."
          problem={
            wrong === undefined
              ? undefined
              : `${wrong} cannot be a tool. Give its name, or the beginning of several followed by *.`
          }
          value={tools}
          onChange={setTools}
        />
        {names.length > 0 && (
          <Check on={search} onChange={setSearch} className="min-h-7 pointer-coarse:min-h-10">
            List one tool that finds these, for clients with room for few definitions
          </Check>
        )}
        <SelectField
          label="Expires"
          description="After that, Gantry refuses it."
          value={String(days ?? '')}
          onChange={(value) => setDays(value === '' ? null : Number(value))}
        >
          {lifetimes.map((one) => (
            <option key={one.name} value={one.days ?? ''}>
              {one.days === null ? one.name : `In ${one.name.toLowerCase()}`}
            </option>
          ))}
        </SelectField>
      </form>
    </ActDialog>
  );
}
