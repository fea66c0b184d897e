/** Where the person is signed in, and ending what they do not know. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Globe, Monitor } from 'lucide-react';
import { useState } from 'react';
import type { SignIn } from '../../../contracts/identity/routes.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { About, Chip, Facts } from './parts.tsx';

export function SignInsPage() {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const signIns = useQuery({ ...queries.signIns, staleTime: 0 });
  const [ending, setEnding] = useState<SignIn | null>(null);
  return (
    <Card title="Sign-ins" aside={signIns.data === undefined ? undefined : `${signIns.data.sessions.length}`}>
      <About>Browsers and computers that act as you. Sign out any that you do not recognize.</About>
      <ListStates
        source={signIns}
        skeleton={<SkeletonRows count={3} height={52} />}
        isEmpty={(data) => data.sessions.length === 0}
        empty={<Empty>Browsers that you sign in with appear here.</Empty>}
      >
        {(data) => (
          <ul>
            {data.sessions.map((one) => (
              <SignInRow key={one.id} signIn={one} onEnd={() => setEnding(one)} />
            ))}
          </ul>
        )}
      </ListStates>
      {ending !== null && (
        <ConfirmDialog
          title="Sign out this browser?"
          description={ending.device}
          label="Sign out"
          act={async () => {
            await api.identity.revokeSession({ params: { id: ending.id } });
            await client.invalidateQueries({ queryKey: keys.signIns });
          }}
          onClose={() => setEnding(null)}
        >
          <p className="text-muted">Its open pages stop at once. Using it again requires a new sign-in.</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function SignInRow({ signIn, onEnd }: { signIn: SignIn; onEnd: () => void }) {
  const Icon = signIn.kind === 'home' ? Monitor : Globe;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2 last:border-b-0">
      <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="min-w-0 break-words font-medium">{signIn.device}</span>
          {signIn.current && <Chip>this browser</Chip>}
        </p>
        <Facts>
          <span>{signIn.kind === 'home' ? 'Paired computer' : 'Browser'}</span>
          <span>
            signed in <Ago at={signIn.createdAt} />
          </span>
          {/* Use is written down once in a while: of the browser that asks it is known better. */}
          {signIn.current ? (
            <span>in use now</span>
          ) : (
            <span>
              used <Ago at={signIn.usedAt} />
            </span>
          )}
        </Facts>
      </div>
      {signIn.kind === 'home' ? (
        <Link
          to="/settings/computers"
          className="text-meta text-muted underline decoration-line-strong hover:text-ink"
          title="Unpair the computer to end it"
        >
          Ends with its pairing
        </Link>
      ) : (
        !signIn.current && (
          <Button kind="danger" onClick={onEnd} aria-label={`Sign out ${signIn.device}`}>
            Sign out
          </Button>
        )
      )}
    </li>
  );
}
