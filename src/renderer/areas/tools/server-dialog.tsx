/** Attaches a server, or changes an attached one: a program on this computer, or an address. */
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { useHere } from '../../base/computers.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Choice } from '../../ui/choice.tsx';
import { ClientFields } from '../../ui/client-fields.tsx';
import { AddressField, AreaField, TextField } from '../../ui/text-field.tsx';
import { useDraft } from '../../ui/use-draft.ts';
import { PairFields } from './pair-fields.tsx';
import { bodyOf, changeOf, draftOf, problemsOf } from './server-form.ts';
import { usePutServer } from './server-health.tsx';
import { useToolServices } from './use-tool-services.ts';

export function ServerDialog({
  server,
  onClose,
  onDone,
}: {
  /** Null: a new one. */
  server: AttachedServer | null;
  onClose: () => void;
  onDone: (server: AttachedServer) => void;
}) {
  const { api } = useToolServices();
  const here = useHere();
  const put = usePutServer();
  const { draft, set, problems, save, form, text } = useDraft({
    thing: server,
    draftOf,
    problemsOf,
    make: { bodyOf, send: (body, options) => api.tools.attachServer({ body }, options) },
    change: { bodyOf: changeOf, send: (body, { id }) => api.tools.changeAttachedServer({ params: { id }, body }) },
    onDone: (made) => {
      put(made);
      onDone(made);
    },
  });

  return (
    <ActDialog
      title={server === null ? 'Attach a tool server' : `Change ${server.name}`}
      description={`Every client of ${here.name} can then use its tools. A program runs with your permissions, so attach only what you trust.`}
      label={server === null ? 'Attach' : 'Save'}
      busyLabel={server === null ? 'Attaching' : 'Saving'}
      act={save}
      onClose={onClose}
    >
      <ActForm form={form} act={save}>
        <TextField
          label="Name"
          required
          description={`Its tool names begin with this: ${draft.name.trim() || 'github'}.search.`}
          {...text('name')}
          maxLength={100}
        />
        <Choice
          legend="Type"
          name="type"
          value={draft.type}
          onChange={(type) => set({ type })}
          choices={[
            { key: 'stdio', word: 'Program', says: 'Gantry starts and stops it on this computer' },
            { key: 'http', word: 'Address', says: 'It runs elsewhere and is reached over HTTP' },
          ]}
        />
        {draft.type === 'stdio' ? (
          <>
            <TextField
              label="Command"
              required
              description="Only the program, e.g. npx."
              {...text('command')}
              className="font-mono text-code"
            />
            <AreaField
              label="Arguments"
              description="One per line, without quotes."
              {...text('args')}
              autoComplete="off"
              rows={3}
              className="field-sizing-content max-h-60 py-1.5 font-mono text-code"
            />
            <PairFields
              label="Environment"
              noun="variable"
              hint="Stored as secrets and never shown again."
              pairs={draft.env}
              problem={problems.env}
              onChange={(env) => set({ env })}
            />
            <TextField
              label="Folder"
              description="Where it starts. Empty: the workspace."
              {...text('cwd')}
              className="font-mono text-code"
            />
          </>
        ) : (
          <>
            <AddressField {...text('url')} />
            <PairFields
              label="Headers"
              noun="header"
              hint="E.g. Authorization. Stored as secrets and never shown again."
              pairs={draft.headers}
              problem={problems.headers}
              onChange={(headers) => set({ headers })}
            />
            <ClientFields title="Sign-in" says="only if the provider gave you a client" client={draft} text={text} />
          </>
        )}
        <TextField
          label="Call timeout (seconds)"
          description="Gantry ends a call that takes longer."
          {...text('timeout')}
          inputMode="numeric"
          className="max-w-24"
        />
      </ActForm>
    </ActDialog>
  );
}
