/** Attaches a server, or changes one that is: a program on this computer, or an address. */
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { AppError } from '../../../contracts/common/errors.ts';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { useHere } from '../../app/computers.tsx';
import { useServices } from '../../app/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { PairFields } from './pair-fields.tsx';
import { bodyOf, changeOf, draftOf, problemsOf, type ServerDraft } from './server-form.ts';
import { usePutServer } from './server-health.tsx';

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
  const { api } = useServices();
  const here = useHere();
  const put = usePutServer();
  const [draft, setDraft] = useState(() => draftOf(server));
  const [tried, setTried] = useState(false);
  /** A name that was refused, and why. */
  const [taken, setTaken] = useState<{ readonly name: string; readonly why: string } | null>(null);
  /** One key for one wish: pressed again after a cut, it is the same server. */
  const wish = useRef({ text: '', key: '' });
  const form = useRef<HTMLFormElement>(null);
  const problems = problemsOf(draft, server);
  const shown: typeof problems = tried ? problems : {};
  const nameProblem = taken?.name === draft.name.trim() ? taken.why : shown.name;
  const set = (change: Partial<ServerDraft>) => setDraft((old) => ({ ...old, ...change }));

  function toFirstProblem(): void {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }

  const save = useAct(async () => {
    flushSync(() => setTried(true));
    if (Object.keys(problems).length > 0) return toFirstProblem();
    try {
      const made = await send();
      put(made);
      onDone(made);
    } catch (error) {
      if (!(error instanceof AppError) || error.options.status !== 409) throw error;
      flushSync(() => setTaken({ name: draft.name.trim(), why: error.fact }));
      toFirstProblem();
    }
  });

  async function send(): Promise<AttachedServer> {
    if (server !== null) {
      const body = changeOf(draft, server);
      if (Object.keys(body).length === 0) return server;
      return api.tools.changeAttachedServer({ params: { id: server.id }, body });
    }
    const body = bodyOf(draft);
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    return api.tools.attachServer({ body }, { idempotencyKey: wish.current.key });
  }

  const line = 'h-7 pointer-coarse:h-10';
  const text = (name: Exclude<keyof ServerDraft, 'env' | 'headers' | 'type'>) => ({
    value: draft[name],
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
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
      <form
        ref={form}
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          save.run();
        }}
      >
        <Field
          label="Name"
          required
          problem={nameProblem}
          description={`The names of its tools begin with it: ${draft.name.trim() || 'github'}.search.`}
        >
          {(ids) => <input {...ids} {...text('name')} maxLength={100} className={`${ids.className} ${line}`} />}
        </Field>
        <fieldset>
          <legend className="pb-1 font-medium">It is</legend>
          {(
            [
              ['stdio', 'A program', 'Gantry starts it on this computer and ends it'],
              ['http', 'An address', 'It runs elsewhere and is reached over HTTP'],
            ] as const
          ).map(([type, title, says]) => (
            <label key={type} className="flex min-h-7 items-center gap-2 pointer-coarse:min-h-10">
              <input
                type="radio"
                name="type"
                checked={draft.type === type}
                onChange={() => set({ type })}
                className="size-3.5 accent-accent"
              />
              {title}
              <span className="min-w-0 text-meta text-muted">{says}</span>
            </label>
          ))}
        </fieldset>
        {draft.type === 'stdio' ? (
          <>
            <Field label="Command" required problem={shown.command} description="The program alone, such as npx.">
              {(ids) => (
                <input {...ids} {...text('command')} className={`${ids.className} ${line} font-mono text-code`} />
              )}
            </Field>
            <Field label="Arguments" problem={shown.args} description="One a line, without quotes.">
              {(ids) => (
                <textarea
                  {...ids}
                  {...text('args')}
                  rows={3}
                  className={`${ids.className} field-sizing-content max-h-60 resize-y py-1.5 font-mono text-code`}
                />
              )}
            </Field>
            <PairFields
              label="Environment"
              noun="variable"
              hint="Kept as secrets: nobody is shown them again."
              pairs={draft.env}
              problem={shown.env}
              onChange={(env) => set({ env })}
            />
            <Field label="Folder" problem={shown.cwd} description="In which it starts; the workspace, if left empty.">
              {(ids) => <input {...ids} {...text('cwd')} className={`${ids.className} ${line} font-mono text-code`} />}
            </Field>
          </>
        ) : (
          <>
            <Field label="Address" required problem={shown.url} description="Such as https://example.com/mcp.">
              {(ids) => (
                <input
                  {...ids}
                  {...text('url')}
                  inputMode="url"
                  className={`${ids.className} ${line} font-mono text-code`}
                />
              )}
            </Field>
            <PairFields
              label="Headers"
              noun="header"
              hint="Such as Authorization. Kept as secrets: nobody is shown them again."
              pairs={draft.headers}
              problem={shown.headers}
              onChange={(headers) => set({ headers })}
            />
            <details open={draft.clientId !== '' || draft.scopes !== '' || undefined} className="group">
              <summary className="rounded-control font-medium pointer-coarse:py-2">
                Sign-in <span className="font-normal text-meta text-muted">where its provider gave you a client</span>
              </summary>
              <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
                <Field label="Client id" problem={shown.clientId} description="Without one Gantry registers itself.">
                  {(ids) => <input {...ids} {...text('clientId')} className={`${ids.className} ${line}`} />}
                </Field>
                <Field label="Client secret" problem={shown.clientSecret}>
                  {(ids) => (
                    <input
                      {...ids}
                      {...text('clientSecret')}
                      type="password"
                      autoComplete="new-password"
                      className={`${ids.className} ${line}`}
                    />
                  )}
                </Field>
                <Field label="Scopes" problem={shown.scopes} description="With spaces between; else what it asks for.">
                  {(ids) => <input {...ids} {...text('scopes')} className={`${ids.className} ${line}`} />}
                </Field>
              </div>
            </details>
          </>
        )}
        <Field label="Time for one call" problem={shown.timeout} description="Seconds; after that the call is ended.">
          {(ids) => (
            <input {...ids} {...text('timeout')} inputMode="numeric" className={`${ids.className} ${line} max-w-24`} />
          )}
        </Field>
        <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
      </form>
    </ActDialog>
  );
}
