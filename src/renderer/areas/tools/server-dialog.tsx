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
      description={`Every client of ${here.name} can use its tools then. A program runs with your rights: attach what you trust.`}
      label={server === null ? 'Attach' : 'Save'}
      busyLabel={server === null ? 'Attaching' : 'Saving'}
      act={save}
      onClose={onClose}
    >
      <ActForm form={form} act={save}>
        <TextField
          label="Name"
          required
          description={`The names of its tools begin with it: ${draft.name.trim() || 'github'}.search.`}
          {...text('name')}
          maxLength={100}
        />
        <Choice
          legend="It is"
          name="type"
          value={draft.type}
          onChange={(type) => set({ type })}
          choices={[
            { key: 'stdio', word: 'A program', says: 'Gantry starts it on this computer and ends it' },
            { key: 'http', word: 'An address', says: 'It runs elsewhere and is reached over HTTP' },
          ]}
        />
        {draft.type === 'stdio' ? (
          <>
            <TextField
              label="Command"
              required
              description="The program alone, such as npx."
              {...text('command')}
              className="font-mono text-code"
            />
            <AreaField
              label="Arguments"
              description="One a line, without quotes."
              {...text('args')}
              autoComplete="off"
              rows={3}
              className="field-sizing-content max-h-60 py-1.5 font-mono text-code"
            />
            <PairFields
              label="Environment"
              noun="variable"
              hint="Kept as secrets: nobody is shown them again."
              pairs={draft.env}
              problem={problems.env}
              onChange={(env) => set({ env })}
            />
            <TextField
              label="Folder"
              description="In which it starts; the workspace, if left empty."
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
              hint="Such as Authorization. Kept as secrets: nobody is shown them again."
              pairs={draft.headers}
              problem={problems.headers}
              onChange={(headers) => set({ headers })}
            />
            <ClientFields title="Sign-in" says="where its provider gave you a client" client={draft} text={text} />
          </>
        )}
        <TextField
          label="Time for one call"
          description="Seconds; after that the call is ended."
          {...text('timeout')}
          inputMode="numeric"
          className="max-w-24"
        />
      </ActForm>
    </ActDialog>
  );
}
