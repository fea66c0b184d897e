/** Routes of accounts, from the contract to the accounts of this computer and the terminals in which they are signed in. */
import { AppError } from '../../../contracts/common/errors.ts';
import {
  type Account,
  addAccount,
  listAccounts,
  removeAccount,
  signInAccount,
} from '../../../contracts/factory/account-routes.ts';
import { type HarnessName, harnesses, ownAccount, titleOf } from '../../../contracts/factory/agent.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../../kit/http/types.ts';
import type { Actor } from '../../base/actor.ts';
import { accountPlace } from '../../harness/accounts.ts';
import { programs } from '../../harness/programs.ts';
import type { Registry } from '../registry.ts';
import type { AccountRow, Accounts } from './accounts.ts';
import type { SignIns } from './sign-ins.ts';

export function accountRoutes(deps: {
  readonly accounts: Accounts;
  readonly signIns: SignIns;
  readonly registry: Pick<Registry, 'members'>;
}): BoundRoute[] {
  const { accounts, signIns } = deps;

  const usersOf = ({ program, name }: AccountRow): string[] =>
    deps.registry
      .members()
      .filter(({ live, spec, remote }) => live && remote === null && spec?.harness === program && spec.account === name)
      .map(({ address }) => address);

  function show(row: AccountRow): Account {
    const { program, name } = row;
    const limit = accounts.limitOf(program, name);
    const problem = accounts.problem(program, name);
    return {
      program,
      name,
      folder: accounts.folderOf(program, name),
      createdAt: iso(row.createdAt),
      ...accounts.signIn(program, name),
      limit:
        limit === null
          ? null
          : { reason: limit.reason, until: limit.until === null ? null : iso(limit.until), since: iso(limit.since) },
      bots: usersOf(row),
      signingIn: signIns.openFor(row),
      problem: problem === null ? null : `${upper(problem.fact)}. ${problem.action}`,
    };
  }

  function mustHave(program: HarnessName, name: string): AccountRow {
    const row = accounts.find(program, name);
    if (row !== null) return row;
    const fact = `${titleOf(program)} has no account "${name}" on this computer.`;
    throw new AppError('not_found', fact, 'List them with `gantry accounts ls`.');
  }

  function refuseNew(program: HarnessName, name: string): void {
    if (name === ownAccount) {
      const fact = `"${ownAccount}" is the name of your own sign-in.`;
      throw new AppError('usage', fact, 'Choose another name, such as work.');
    }
    const { accounts: place } = programs[program];
    if (typeof place === 'string')
      throw new AppError('usage', `${titleOf(program)} cannot have several accounts. ${place}`, 'Use another program.');
    if (accounts.find(program, name) === null) return;
    const fact = `${titleOf(program)} has an account "${name}" already.`;
    const action = `Sign it in again with \`gantry accounts sign-in ${program} ${name}\`, or choose another name.`;
    throw new AppError('refused', fact, action, { status: 409 });
  }

  return [
    bind(listAccounts, () => ({
      body: {
        accounts: accounts.all().map(show),
        programs: harnesses.map((program) => {
          const place = programs[program].accounts;
          return {
            program,
            title: titleOf(program),
            variable: accountPlace(program)?.variable ?? null,
            why: typeof place === 'string' ? place : null,
          };
        }),
      },
    })),
    bind(addAccount, async ({ body: { program, account, dryRun }, principal }) => {
      refuseNew(program, account);
      const runs = await signIns.commandOf(program);
      const folder = accounts.folderOf(program, account);
      if (dryRun === true) return { body: { dryRun: true as const, plan: { folder, runs } } };
      const row = await accounts.add(program, account, actorOf(principal));
      await signIns.open(row);
      return { body: { account: show(row) } };
    }),
    bind(signInAccount, async ({ params, body }) => {
      const row = mustHave(params.program, params.account);
      const runs = await signIns.commandOf(row.program);
      const folder = accounts.folderOf(row.program, row.name);
      if (body.dryRun === true) return { body: { dryRun: true as const, plan: { folder, runs } } };
      accounts.check({ harness: row.program, account: row.name, env: {} });
      await signIns.open(row);
      return { body: { account: show(row) } };
    }),
    bind(removeAccount, async ({ params, query, principal }) => {
      const row = mustHave(params.program, params.account);
      const users = usersOf(row);
      if (users.length > 0) {
        const fact = `The account "${row.name}" of ${titleOf(row.program)} is in use by ${users.join(', ')}.`;
        throw new AppError('refused', fact, 'Stop these bots first.', { status: 409 });
      }
      const removed = show(row);
      if (query.dryRun === true) return { body: { dryRun: true as const, plan: { removes: removed.folder } } };
      await signIns.end(row);
      await accounts.remove(row, actorOf(principal));
      return { body: { removed: { ...removed, signingIn: null } } };
    }),
  ];
}

const actorOf = (principal: Principal): Actor => ({ actor: principal.userId, surface: surfaceOf(principal) });
const upper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
