/** Connects a service, or changes how one is reached: its address, and who it is asked as. */
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Field } from '../../ui/schema-form.tsx';
import { useAct } from '../../ui/use-act.ts';
import { bodyOf, type ConnectorDraft, changeOf, draftOf, problemsOf } from './connector-form.ts';
import { useConnectorServices, usePutConnector } from './use-connector-services.ts';

export function ConnectorDialog({
  connector,
  onClose,
  onDone,
}: {
  /** Null: a new one. */
  connector: Connector | null;
  onClose: () => void;
  onDone: (connector: Connector) => void;
}) {
  const { api } = useConnectorServices();
  const put = usePutConnector();
  const [draft, setDraft] = useState(() => draftOf(connector));
  const [tried, setTried] = useState(false);
  /** A name that was refused, and why. */
  const [taken, setTaken] = useState<{ readonly name: string; readonly why: string } | null>(null);
  /** One key for one wish: pressed again after a cut, it is the same connector. */
  const wish = useRef({ text: '', key: '' });
  const form = useRef<HTMLFormElement>(null);
  const problems = problemsOf(draft, connector);
  const shown: typeof problems = tried ? problems : {};
  const set = (change: Partial<ConnectorDraft>) => setDraft((old) => ({ ...old, ...change }));

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

  async function send(): Promise<Connector> {
    if (connector !== null) {
      const body = changeOf(draft, connector);
      if (Object.keys(body).length === 0) return connector;
      return api.connectors.changeConnector({ params: { id: connector.id }, body });
    }
    const body = bodyOf(draft);
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    return api.connectors.createConnector({ body }, { idempotencyKey: wish.current.key });
  }

  const line = 'h-7 pointer-coarse:h-10';
  const text = (name: Exclude<keyof ConnectorDraft, 'auth'>) => ({
    value: draft[name],
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  return (
    <ActDialog
      title={connector === null ? 'Connect a service' : `Change ${connector.name}`}
      description="A service that speaks MCP: its events become work for your bots, and its tools are there for them, too."
      label={connector === null ? 'Connect' : 'Save'}
      busyLabel={connector === null ? 'Connecting' : 'Saving'}
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
          problem={taken?.name === draft.name.trim() ? taken.why : shown.name}
          description="Yours for it, such as tracker."
        >
          {(ids) => <input {...ids} {...text('name')} maxLength={100} className={`${ids.className} ${line}`} />}
        </Field>
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
        <Choice
          legend="It knows you by"
          name="auth"
          value={draft.auth}
          onChange={(auth) => set({ auth })}
          choices={[
            { key: 'oauth', word: 'A sign-in', says: 'On its own page, in a tab of its own' },
            { key: 'api_key', word: 'An API key', says: 'Sent with every request' },
            { key: 'none', word: 'Nothing', says: 'It is open to everybody who reaches it' },
          ]}
        />
        {draft.auth === 'api_key' && (
          <>
            <Field
              label="API key"
              required
              problem={shown.key}
              description="Kept as a secret: nobody is shown it again."
            >
              {(ids) => (
                <input
                  {...ids}
                  {...text('key')}
                  type="password"
                  autoComplete="new-password"
                  className={`${ids.className} ${line}`}
                />
              )}
            </Field>
            <Field
              label="Header"
              problem={shown.header}
              description="Where the key goes; Authorization, with “Bearer” before it, if left empty."
            >
              {(ids) => (
                <input {...ids} {...text('header')} className={`${ids.className} ${line} font-mono text-code`} />
              )}
            </Field>
          </>
        )}
        {draft.auth === 'oauth' && (
          <details open={draft.clientId !== '' || draft.scopes !== '' || undefined}>
            <summary className="rounded-control font-medium pointer-coarse:py-2">
              Client <span className="font-normal text-meta text-muted">where its provider gave you one</span>
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
        )}
        <button type="submit" hidden aria-hidden="true" tabIndex={-1} />
      </form>
    </ActDialog>
  );
}
