/** The signed-in person, where they are signed in, and signing out. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Setting } from './parts.tsx';

const planWords = { free: 'Free', plus: 'Plus', super: 'Super', ultra: 'Ultra' } as const;

export function AccountPage() {
  const { queries } = useServices();
  const session = useQuery(queries.session);
  return (
    <>
      <Card title="Account">
        <ListStates source={session} skeleton={<SkeletonRows count={4} />} isEmpty={() => false} empty={null}>
          {(data) => (
            <dl className="grid grid-cols-[110px_1fr] gap-x-3 gap-y-1 px-3 py-2.5">
              <dt className="text-muted">Name</dt>
              <dd className="min-w-0 break-words">{data.name}</dd>
              <dt className="text-muted">Plan</dt>
              <dd>{planWords[data.plan]}</dd>
              <dt className="text-muted">Signed in at</dt>
              <dd className="min-w-0 break-words">
                {data.mode === 'embedded' ? 'this computer, as its owner' : window.location.host}
              </dd>
              <dt className="text-muted">User id</dt>
              <dd>
                <ShortId id={data.user} />
              </dd>
            </dl>
          )}
        </ListStates>
      </Card>
      <SignOut embedded={session.data?.mode !== 'headless'} />
    </>
  );
}

function SignOut({ embedded }: { embedded: boolean }) {
  const { api, browserPush, lastKnown } = useServices();
  const client = useQueryClient();
  const [failure, setFailure] = useState<unknown>(null);
  async function signOut(): Promise<void> {
    setFailure(null);
    // Pushes belong to the person who was signed in; an unreachable push service must not block signing out.
    if (browserPush.deviceId() !== null) await browserPush.turnOff().catch(() => {});
    try {
      await api.identity.endSession();
    } catch (error) {
      return setFailure(error);
    }
    api.renewSession();
    client.clear();
    // The words of sent messages and the names of bots are the person's, not the browser's.
    sessionStorage.clear();
    lastKnown.forget();
    window.location.assign('/');
  }
  return (
    <Card title="This browser">
      <Setting
        name="Sign out"
        effect={
          embedded
            ? 'Forgets this browser and ends its pushes. A new one-time link signs it in again. Bots keep running.'
            : 'Ends this session and the pushes to this browser. Bots keep running; other browsers and computers stay signed in.'
        }
      >
        <Button onClick={() => void signOut()}>Sign out</Button>
      </Setting>
      {failure !== null && <Problem error={failure} />}
    </Card>
  );
}
