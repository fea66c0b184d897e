/** Accounts of agent programs: several sign-ins, each with a name that team files use. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { RouteResult } from '../../../client/client.ts';
import type { Account, listAccounts } from '../../../contracts/factory/account-routes.ts';
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import { useServices } from '../../base/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { localTimes } from '../../ui/local-times.ts';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { SelectField, TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { About, Chip, Facts } from './parts.tsx';

/** A sign-in ends without an event; ms. */
const lookEvery = 5_000;

type Programs = RouteResult<typeof listAccounts>['programs'];

export function AgentAccountsPage() {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const list = useQuery({ ...queries.accounts, staleTime: 0, refetchInterval: lookEvery });
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Account | null>(null);
  const first = list.data?.programs.find(({ why }) => why === null)?.program;
  const add = (
    <Button icon={Plus} kind="primary" onClick={() => setAdding(true)}>
      Add an account
    </Button>
  );
  return (
    <Card title="Agent accounts" aside={list.data === undefined ? undefined : `${list.data.accounts.length}`}>
      <About>
        Several sign-ins of one agent program on this computer. A team file names the account of a bot, or an order of
        accounts to go through when one meets its usage limit. Check that your provider’s terms allow it.
      </About>
      <ListStates
        source={list}
        skeleton={<SkeletonRows count={3} height={52} />}
        isEmpty={(data) => data.accounts.length === 0}
        empty={<Empty action={add}>Accounts that you add appear here. Until then, bots use your own sign-ins.</Empty>}
      >
        {(data) => (
          <>
            <ul>
              {data.accounts.map((account) => (
                <AccountRow
                  key={`${account.program}/${account.name}`}
                  account={account}
                  title={data.programs.find(({ program }) => program === account.program)?.title ?? account.program}
                  onRemove={() => setRemoving(account)}
                />
              ))}
            </ul>
            <div className="border-t border-line px-3 py-2.5">{add}</div>
          </>
        )}
      </ListStates>
      {adding && first !== undefined && list.data !== undefined && (
        <AddDialog first={first} programs={list.data.programs} onClose={() => setAdding(false)} />
      )}
      {removing !== null && (
        <ConfirmDialog
          title={`Remove the account ${removing.name}?`}
          description="This cannot be undone."
          label="Remove"
          act={async () => {
            await api.factory.removeAccount({
              params: { program: removing.program, account: removing.name },
              query: {},
            });
            await client.invalidateQueries({ queryKey: keys.accounts });
          }}
          onClose={() => setRemoving(null)}
        >
          <p className="break-words text-muted">
            Its folder <code className="font-mono text-code break-all text-ink">{removing.folder}</code> is deleted,
            with its sign-in, settings and conversations.
          </p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

/** Opens the sign-in of an account, and shows its terminal. */
function useSignIn(account: Pick<Account, 'program' | 'name'>) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  return useAct(async () => {
    const answer = await api.factory.signInAccount({
      params: { program: account.program, account: account.name },
      body: {},
    });
    await Promise.all([keys.accounts, keys.agents].map((queryKey) => client.invalidateQueries({ queryKey })));
    const bot = 'account' in answer ? answer.account.signingIn : null;
    if (bot !== null) await navigate({ to: '/floor', search: { bot: bot.agentId } });
  });
}

const paidWords = { subscription: 'by subscription', key: 'paid by use' } as const;

function AccountRow({ account, title, onRemove }: { account: Account; title: string; onRemove: () => void }) {
  const signIn = useSignIn(account);
  const { limit } = account;
  const signInWords = account.signedIn === true ? 'Sign in again' : 'Sign in';
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2 last:border-b-0">
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-words font-medium">{account.name}</span>
          <Chip>{title}</Chip>
        </p>
        <Facts>
          <span>{signedInWords(account)}</span>
          {account.paidBy !== null && <span>{paidWords[account.paidBy]}</span>}
          <span>
            added <Ago at={account.createdAt} />
          </span>
          <span className="break-words">
            {account.bots.length === 0 ? 'used by no bot' : `used by ${account.bots.join(', ')}`}
          </span>
        </Facts>
        {limit !== null && (
          <p className="break-words text-meta text-muted">
            At its usage limit. {localTimes(limit.reason.replace(/^usage limit: /, ''))}
          </p>
        )}
        {account.problem !== null && <p className="break-words text-meta text-fail">{account.problem}</p>}
        {signIn.failure !== null && <Problem error={signIn.failure} />}
      </div>
      {account.signingIn === null ? (
        <Button
          onClick={signIn.run}
          disabled={signIn.busy}
          aria-label={`${signInWords} to ${account.name} of ${title}`}
        >
          {signInWords}
        </Button>
      ) : (
        <Link to="/floor" search={{ bot: account.signingIn.agentId }} className="text-accent hover:underline">
          Show its terminal
        </Link>
      )}
      <Button
        kind="danger"
        onClick={onRemove}
        disabled={account.bots.length > 0}
        title={account.bots.length > 0 ? 'Stop the bots that use it first' : undefined}
        aria-label={`Remove ${account.name} of ${title}`}
      >
        Remove
      </Button>
    </li>
  );
}

function signedInWords({ signedIn, signingIn }: Account): string {
  if (signingIn !== null) return 'signing in';
  if (signedIn === null) return 'unknown whether it is signed in';
  return signedIn ? 'signed in' : 'not signed in';
}

function AddDialog({ first, programs, onClose }: { first: HarnessName; programs: Programs; onClose: () => void }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  const able = programs.filter(({ why }) => why === null);
  const [program, setProgram] = useState<HarnessName>(first);
  const [name, setName] = useState('');
  const valid = /^[a-z0-9_-]{1,40}$/.test(name) && name !== 'default';
  const add = useAct(async () => {
    const answer = await api.factory.addAccount({ body: { program, account: name } });
    await Promise.all([keys.accounts, keys.agents].map((queryKey) => client.invalidateQueries({ queryKey })));
    onClose();
    const bot = 'account' in answer ? answer.account.signingIn : null;
    if (bot !== null) await navigate({ to: '/floor', search: { bot: bot.agentId } });
  });
  return (
    <ActDialog
      title="Add an account"
      description="The program’s own sign-in opens in a terminal."
      label="Add and sign in"
      act={add}
      ready={valid}
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (valid) add.run();
        }}
      >
        <SelectField
          label="Program"
          value={program}
          onChange={setProgram}
          description={programs
            .filter(({ why, program: one }) => why !== null && one !== 'shell' && one !== 'custom')
            .map(({ title, why }) => `${title}: ${why}`)
            .join(' ')}
        >
          {able.map((one) => (
            <option key={one.program} value={one.program}>
              {one.title}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Name"
          required
          description="As team files name it, such as work."
          problem={name === '' || valid ? undefined : 'Use lowercase letters, digits, "_" and "-"; not "default".'}
          value={name}
          maxLength={40}
          onChange={setName}
        />
      </form>
    </ActDialog>
  );
}
