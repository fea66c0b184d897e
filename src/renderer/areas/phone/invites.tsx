/** Pages that ask one person for consent to be called: created, copied, withdrawn. */
import { useQuery } from '@tanstack/react-query';
import type { Invite, PhoneNumber } from '../../../contracts/phone/number.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, formatElapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import { usePhoneServices, useTouchNumber } from './use-phone-services.ts';

export function Invites({ number }: { number: PhoneNumber }) {
  const { api, queries } = usePhoneServices();
  const touch = useTouchNumber();
  const source = useQuery(queries.invites(number.id));
  const create = useAct(async () => {
    await api.phone.numbers.createPhoneInvite(
      { params: { id: number.id }, body: {} },
      { idempotencyKey: crypto.randomUUID() },
    );
    touch(number.id, 'invites');
  });
  const remove = useAct(async (invite: string) => {
    await api.phone.numbers.deletePhoneInvite({ params: { id: number.id, invite } });
    touch(number.id, 'invites');
  });
  const failure = create.failure ?? remove.failure;
  const button = (
    <Button disabled={create.busy} onClick={() => create.run()}>
      Create invite
    </Button>
  );
  return (
    <>
      {failure !== null && <Problem error={failure} />}
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={2} height={44} />}
        isEmpty={(list) => list.length === 0}
        empty={<Empty action={button}>Links to send to people whom you want to call appear here.</Empty>}
      >
        {(list) => (
          <>
            <ul>
              {list.map((one) => (
                <Row key={one.id} invite={one} busy={remove.busy} onRemove={() => remove.run(one.id)} />
              ))}
            </ul>
            <div className="border-t border-line p-3">{button}</div>
          </>
        )}
      </ListStates>
    </>
  );
}

function Row({ invite, busy, onRemove }: { invite: Invite; busy: boolean; onRemove: () => void }) {
  const now = useNow();
  const { url, usedAt, expiresAt } = invite;
  const left = Date.parse(expiresAt) - now;
  const open = usedAt === null && left > 0;
  return (
    <li
      data-invite={open ? 'open' : 'closed'}
      className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-1.5"
    >
      <span className="min-w-0 flex-1 basis-52">
        {open ? <Command text={url} /> : <span className="text-muted">{usedAt === null ? 'Not used' : 'Used'}</span>}
      </span>
      <span className="text-meta text-muted tabular-nums">
        {usedAt !== null ? (
          <>
            agreed <Ago at={usedAt} />
          </>
        ) : open ? (
          `expires in ${formatElapsed(left)}`
        ) : (
          'expired'
        )}
      </span>
      {open && (
        <Button kind="quiet" disabled={busy} onClick={onRemove}>
          Withdraw
        </Button>
      )}
    </li>
  );
}
