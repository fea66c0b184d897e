/** Connects a service, or changes its connection: its address and its credentials. */
import type { Connector } from '../../../contracts/connectors/connector.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { Choice } from '../../ui/choice.tsx';
import { ClientFields } from '../../ui/client-fields.tsx';
import { AddressField, TextField } from '../../ui/text-field.tsx';
import { useDraft } from '../../ui/use-draft.ts';
import { bodyOf, changeOf, draftOf, problemsOf } from './connector-form.ts';
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
  const { draft, set, save, form, text } = useDraft({
    thing: connector,
    draftOf,
    problemsOf,
    make: { bodyOf, send: (body, options) => api.connectors.createConnector({ body }, options) },
    change: { bodyOf: changeOf, send: (body, { id }) => api.connectors.changeConnector({ params: { id }, body }) },
    onDone: (made) => {
      put(made);
      onDone(made);
    },
  });

  return (
    <ActDialog
      title={connector === null ? 'Connect a service' : `Change ${connector.name}`}
      description="A service that speaks MCP. Its events become work for your bots, and they can use its tools."
      label={connector === null ? 'Connect' : 'Save'}
      busyLabel={connector === null ? 'Connecting' : 'Saving'}
      act={save}
      onClose={onClose}
    >
      <ActForm form={form} act={save}>
        <TextField
          label="Name"
          required
          description="Your name for it, e.g. tracker."
          {...text('name')}
          maxLength={100}
        />
        <AddressField {...text('url')} />
        <Choice
          legend="Authentication"
          name="auth"
          value={draft.auth}
          onChange={(auth) => set({ auth })}
          choices={[
            { key: 'oauth', word: 'Sign-in', says: 'On the service’s own page, in a new tab' },
            { key: 'api_key', word: 'API key', says: 'Sent with every request' },
            { key: 'none', word: 'None', says: 'Anyone who can reach the service can use it' },
          ]}
        />
        {draft.auth === 'api_key' && (
          <>
            <TextField
              label="API key"
              required
              description="Stored as a secret and never shown again."
              {...text('key')}
              type="password"
              autoComplete="new-password"
            />
            <TextField
              label="Header"
              description="The header that carries the key. Empty: Authorization, with “Bearer” before the key."
              {...text('header')}
              className="font-mono text-code"
            />
          </>
        )}
        {draft.auth === 'oauth' && (
          <ClientFields title="Client" says="only if the provider gave you one" client={draft} text={text} />
        )}
      </ActForm>
    </ActDialog>
  );
}
