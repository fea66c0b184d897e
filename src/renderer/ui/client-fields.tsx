/** A client of somebody's sign-in, where its provider gave one out by hand. First user: tool servers; second: connectors. */
import { TextField } from './text-field.tsx';
import type { Draft } from './use-draft.ts';

interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
  /** With spaces between. */
  readonly scopes: string;
}

export function ClientFields({
  title,
  says,
  client,
  text,
}: {
  title: string;
  says: string;
  client: Client;
  text: Draft<Client>['text'];
}) {
  return (
    <details open={client.clientId !== '' || client.scopes !== '' || undefined}>
      <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
        {title} <span className="font-normal text-meta text-muted">{says}</span>
      </summary>
      <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
        <TextField label="Client id" description="Empty: Gantry registers itself." {...text('clientId')} />
        <TextField label="Client secret" {...text('clientSecret')} type="password" autoComplete="new-password" />
        <TextField
          label="Scopes"
          description="Space-separated. Empty: whatever the server requests."
          {...text('scopes')}
        />
      </div>
    </details>
  );
}
