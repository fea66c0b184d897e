/** API keys: what programs sign in with. The text of a key is shown once, here, and never again. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { ApiKey } from '../../../contracts/identity/keys.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, useNow } from '../../ui/now.tsx';
import { scopeWords } from '../../ui/scope-words.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { expiryWords, toolWords } from './key-words.ts';
import { About, Chip, Facts } from './parts.tsx';

export function KeysPage() {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const list = useQuery({ ...queries.apiKeys, staleTime: 0 });
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const create = (
    <Button icon={Plus} kind="primary" onClick={() => setCreating(true)}>
      Create a key
    </Button>
  );
  return (
    <>
      <Card title="API keys" aside={list.data === undefined ? undefined : `${list.data.keys.length}`}>
        <About>
          Programs use keys to call Gantry for you. To replace a key without downtime, create another with the same
          name, switch your program to it, then revoke the first.
        </About>
        <ListStates
          source={list}
          skeleton={<SkeletonRows count={3} height={64} />}
          isEmpty={(data) => data.keys.length === 0}
          empty={
            <Empty action={create}>
              Keys that you create appear here, with their permissions and when they expire.
            </Empty>
          }
        >
          {(data) => (
            <>
              <ul>
                {data.keys.map((key) => (
                  <KeyRow key={key.id} apiKey={key} onRevoke={() => setRevoking(key)} />
                ))}
              </ul>
              <div className="border-t border-line px-3 py-2.5">{create}</div>
            </>
          )}
        </ListStates>
      </Card>
      {creating && (
        <CreateKeyDialog
          onClose={() => setCreating(false)}
          onCreated={() => void client.invalidateQueries({ queryKey: keys.apiKeys })}
        />
      )}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          description="This cannot be undone."
          label="Revoke"
          act={async () => {
            await api.identity.revokeKey({ params: { id: revoking.id } });
            await client.invalidateQueries({ queryKey: keys.apiKeys });
          }}
          onClose={() => setRevoking(null)}
        >
          <p className="text-muted">
            Programs that use <code className="font-mono text-code text-ink">{revoking.prefix}…</code> are refused from
            now on.{' '}
            {revoking.lastUsedAt === null ? (
              'It was never used.'
            ) : (
              <>
                It was last used <Ago at={revoking.lastUsedAt} />.
              </>
            )}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke: () => void }) {
  const now = useNow();
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2 last:border-b-0">
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-words font-medium">{apiKey.name}</span>
          <code className="font-mono text-code text-muted">{apiKey.prefix}…</code>
          {apiKey.scopes.map((scope) => (
            <span key={scope} title={scopeWords[scope]}>
              <Chip>{scope}</Chip>
            </span>
          ))}
        </p>
        <Facts>
          <span>
            created <Ago at={apiKey.createdAt} />
          </span>
          <span>{expiryWords(apiKey.expiresAt, now)}</span>
          {apiKey.resource !== null && <span className="break-all">opens only {apiKey.resource}</span>}
          {apiKey.tools !== null && (
            <span className="break-words" title={apiKey.tools.names.join(' ')}>
              {toolWords(apiKey.tools)}
            </span>
          )}
          <span>
            {apiKey.lastUsedAt === null ? (
              'never used'
            ) : (
              <>
                used <Ago at={apiKey.lastUsedAt} />
              </>
            )}
          </span>
        </Facts>
      </div>
      <Button kind="danger" onClick={onRevoke} aria-label={`Revoke ${apiKey.name} ${apiKey.prefix}`}>
        Revoke
      </Button>
    </li>
  );
}
