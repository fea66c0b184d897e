/**
 * The accounts of agent programs on this computer: which there are, whether one can be used, which of them met a usage limit, and which one a bot
 * starts with. Must not know panes, live bots or HTTP.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { type HarnessName, ownAccount, titleOf } from '../../../contracts/factory/agent.ts';
import type { Actor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import { accountFolder, accountPlace, accountsIn, ownFolder, readSignIn } from '../../harness/accounts.ts';
import type { BotSpec } from '../../harness/harness.ts';
import { programs } from '../../harness/programs.ts';
import type { UsageLimit } from '../../harness/usage.ts';
import type { ResolvedBot } from '../team-file/resolve.ts';

export interface AccountRow {
  readonly program: HarnessName;
  readonly name: string;
  readonly createdAt: number;
}

interface AccountLimit {
  readonly reason: string;
  readonly until: number | null;
  readonly since: number;
}

/** What a team file says about the accounts of a bot. */
export type AccountWish = Pick<ResolvedBot, 'accounts' | 'accountsMayCost' | 'env'>;

/** `account` null: the person's own sign-in. `words`: for the plan of a start; null where no account is named. */
type AccountChoice =
  | { readonly account: string | null; readonly words: string | null }
  | { readonly fact: string; readonly action: string };

/** What the start of a bot needs. */
export interface AccountStarts {
  choose(wish: AccountWish, harness: HarnessName): AccountChoice;
  /** `usage` or `refused` where its account cannot be used. */
  check(spec: Pick<BotSpec, 'harness' | 'account' | 'env'>): void;
}

export interface Accounts extends AccountStarts {
  load(): Promise<void>;
  all(): readonly AccountRow[];
  find(program: HarnessName, name: string): AccountRow | null;
  folderOf(program: HarnessName, name: string): string;
  /** Why it cannot be used; null: it can. */
  problem(program: HarnessName, name: string): { readonly fact: string; readonly action: string } | null;
  signIn(program: HarnessName, name: string, env?: BotSpec['env']): ReturnType<typeof readSignIn>;
  add(program: HarnessName, name: string, by: Actor): Promise<AccountRow>;
  /** With its folder. */
  remove(row: AccountRow, by: Actor): Promise<void>;
  /** Null: it met none, or that is over. */
  limitOf(program: HarnessName, name: string): AccountLimit | null;
  limited(program: HarnessName, name: string, limit: UsageLimit): Promise<void>;
  freed(program: HarnessName, name: string): Promise<void>;
  /** Those of an order that may be used: never silently at another price than the first one's. */
  allowed(wish: AccountWish, program: HarnessName): readonly string[];
}

/** A limit without a known end is taken as over then. */
const unknownLimitMs = 3_600_000;
const keyOf = (program: HarnessName, name: string): string => `${program}/${name}`;

/** For bots of other people: their team files name no sign-in of this computer. */
export const noAccounts: AccountStarts = {
  choose: ({ accounts }) => (accounts.length === 0 ? { account: null, words: null } : onlyHere),
  check({ account }) {
    if (account !== undefined) throw new AppError('usage', `${onlyHere.fact}.`, onlyHere.action);
  },
};
const onlyHere = {
  fact: 'it names an account, and bots of another computer cannot use the accounts of this one',
  action: 'Leave out `account` and `accounts`, or start it on its own computer.',
};

export function createAccounts(
  deps: Pick<Base, 'store' | 'ledger' | 'clock'> & {
    /** `GANTRY_HOME`. */
    readonly home: string;
    readonly userHome: string;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): Accounts {
  const { store, ledger, clock } = deps;
  const root = accountsIn(deps.home);
  const rows = new Map<string, AccountRow>();
  const limits = new Map<string, AccountLimit>();

  const find = (program: HarnessName, name: string) => rows.get(keyOf(program, name)) ?? null;
  const folderOf = (program: HarnessName, name: string) => accountFolder(root, program, name);

  function problem(program: HarnessName, name: string): { fact: string; action: string } | null {
    const title = titleOf(program);
    const { accounts } = programs[program];
    if (typeof accounts === 'string') {
      const fact = `it names the account "${name}", but ${title} cannot have several. ${accounts}`;
      return { fact: fact.replace(/\.$/, ''), action: 'Leave out `account` and `accounts`.' };
    }
    if (name === ownAccount) return null;
    const add = `gantry accounts add ${program} ${name}`;
    if (find(program, name) === null)
      return { fact: `${title} has no account "${name}" on this computer`, action: `Add it with \`${add}\`.` };
    const trouble = folderTrouble(deps.home, program, name);
    if (trouble === null) return null;
    const action = `Remove it with \`gantry accounts remove ${program} ${name}\`, then add it again.`;
    return { fact: `the folder of the account "${name}" of ${title} ${trouble}`, action };
  }

  function signIn(program: HarnessName, name: string, env: BotSpec['env'] = {}) {
    if (name !== ownAccount) return readSignIn(program, folderOf(program, name));
    const place = accountPlace(program);
    const around = { ...deps.env, ...env };
    if (place === null) return { signedIn: null, paidBy: null };
    if (place.without.some((key) => (around[key] ?? '') !== '')) return { signedIn: true, paidBy: 'key' as const };
    const { paidBy } = readSignIn(program, ownFolder(place, around, deps.userHome));
    return { signedIn: null, paidBy };
  }

  function limitOf(program: HarnessName, name: string): AccountLimit | null {
    const limit = limits.get(keyOf(program, name));
    return limit === undefined || clock.now() >= (limit.until ?? limit.since + unknownLimitMs) ? null : limit;
  }

  function allowed(wish: AccountWish, program: HarnessName): readonly string[] {
    const [first] = wish.accounts;
    if (first === undefined) return [];
    const paid = (name: string) => signIn(program, name, wish.env).paidBy;
    if (wish.accountsMayCost || paid(first) === 'key') return wish.accounts;
    return wish.accounts.filter((name) => name === first || paid(name) === 'subscription');
  }

  function setTwice(env: BotSpec['env'], program: HarnessName): { fact: string; action: string } | null {
    const place = accountPlace(program);
    const name = place === null ? undefined : [place.variable, ...place.without].find((one) => one in env);
    if (name === undefined) return null;
    return {
      fact: `its \`env\` sets ${name}, which would take the place of its account`,
      action: 'Leave out one of the two.',
    };
  }

  function choose(wish: AccountWish, harness: HarnessName): AccountChoice {
    const [first] = wish.accounts;
    if (first === undefined) return { account: null, words: null };
    for (const name of wish.accounts) {
      const why = problem(harness, name) ?? (name === ownAccount ? null : setTwice(wish.env, harness));
      if (why !== null) return why;
    }
    const name = allowed(wish, harness).find((one) => limitOf(harness, one) === null) ?? first;
    const because = name === first ? '' : `, because "${first}" is at its usage limit`;
    return { account: name === ownAccount ? null : name, words: `with the account "${name}"${because}` };
  }

  return {
    async load() {
      await store.read((tx) => {
        for (const row of tx.all<{ program: HarnessName; name: string; created_at: number }>('SELECT * FROM account'))
          rows.set(keyOf(row.program, row.name), { program: row.program, name: row.name, createdAt: row.created_at });
        for (const { program, name, ...limit } of tx.all<{ program: HarnessName; name: string } & AccountLimit>(
          'SELECT * FROM account_limit',
        ))
          limits.set(keyOf(program, name), limit);
      });
    },
    all: () => [...rows.values()],
    find,
    folderOf,
    problem,
    signIn,
    limitOf,
    allowed,
    choose,
    check({ harness, account, env }) {
      if (account === undefined) return;
      const why = problem(harness, account) ?? setTwice(env, harness);
      if (why !== null) throw new AppError('usage', why.fact, why.action);
    },
    async add(program, name, by) {
      const folder = folderOf(program, name);
      if (existsSync(folder) || lstatSync(folder, { throwIfNoEntry: false }) !== undefined) {
        const fact = `${folder} exists already, and no account of ${titleOf(program)} is called "${name}".`;
        throw new AppError('refused', fact, 'Look what it is, then move it away.', { status: 409 });
      }
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const trouble = folderTrouble(deps.home, program, name);
      if (trouble !== null) throw new AppError('refused', `${folder} ${trouble}.`, 'Look who put a link there.');
      const row = { program, name, createdAt: clock.now() };
      await store.write((tx) => {
        tx.run('INSERT INTO account (program, name, created_at) VALUES (?, ?, ?)', program, name, row.createdAt);
        const body = { v: 1, program, account: name };
        ledger.append(tx, { type: 'account.added', ...by, subject: `account:${keyOf(program, name)}`, body });
      });
      rows.set(keyOf(program, name), row);
      return row;
    },
    async remove({ program, name }, by) {
      await store.write((tx) => {
        tx.run('DELETE FROM account WHERE program = ? AND name = ?', program, name);
        tx.run('DELETE FROM account_limit WHERE program = ? AND name = ?', program, name);
        const body = { v: 1, program, account: name };
        ledger.append(tx, { type: 'account.removed', ...by, subject: `account:${keyOf(program, name)}`, body });
      });
      rows.delete(keyOf(program, name));
      limits.delete(keyOf(program, name));
      // A link in its place is removed, not what it leads to.
      await rm(folderOf(program, name), { recursive: true, force: true });
    },
    async limited(program, name, { reason, until }) {
      const limit = { reason, until, since: clock.now() };
      limits.set(keyOf(program, name), limit);
      await store.write((tx) =>
        tx.run(
          `INSERT INTO account_limit (program, name, reason, until, since) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (program, name) DO UPDATE SET reason = excluded.reason, until = excluded.until, since = excluded.since`,
          program,
          name,
          reason,
          until,
          limit.since,
        ),
      );
    },
    async freed(program, name) {
      if (!limits.delete(keyOf(program, name))) return;
      await store.write((tx) => tx.run('DELETE FROM account_limit WHERE program = ? AND name = ?', program, name));
    },
  };
}

/** As the rest of a sentence; null: it is a folder of the person's, where it belongs. */
function folderTrouble(home: string, program: HarnessName, name: string): string | null {
  const folder = accountFolder(accountsIn(home), program, name);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return 'is gone';
  if (found.isSymbolicLink()) return 'is a link';
  if (!found.isDirectory()) return 'is no folder';
  const uid = process.getuid?.();
  if (uid !== undefined && found.uid !== uid) return 'belongs to another user';
  const real = realpathSync(folder);
  return real === join(accountsIn(realpathSync(home)), program, name) ? null : `leads to ${real}`;
}
