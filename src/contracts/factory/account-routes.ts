/** Accounts: several sign-ins of one agent program, each with a name and a folder of its own. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { QueryFlag, Time } from '../common/values.ts';
import { AccountName, HarnessName } from './agent.ts';
import { area, base, errors, people } from './route-parts.ts';

const paidBy = z.enum(['subscription', 'key']).nullable();

export const Account = z
  .strictObject({
    program: HarnessName,
    name: AccountName,
    folder: z.string().meta({ description: 'Where the program keeps its sign-in, settings and conversations.' }),
    createdAt: Time,
    signedIn: z.boolean().nullable().meta({ description: 'Null: unknown, such as in a keychain.' }),
    paidBy: paidBy.meta({ description: 'What its use is paid by, as the program’s own files say; null: unknown.' }),
    limit: z
      .strictObject({ reason: z.string(), until: Time.nullable(), since: Time })
      .nullable()
      .meta({ description: 'The usage limit that a bot met with it and that is not over; null: none.' }),
    bots: z.array(z.string()).meta({ description: 'Addresses of live bots that use it.' }),
    signingIn: z
      .strictObject({ agentId: z.string(), address: z.string() })
      .nullable()
      .meta({ description: 'The terminal in which it is signed in now; null: none.' }),
    problem: z.string().nullable().meta({ description: 'Why no bot can start with it; null: nothing is wrong.' }),
  })
  .meta({ id: 'Account' });
export type Account = z.infer<typeof Account>;

const own = { area, errors, owner: { none: 'sign-ins of the computer’s person' } } as const;
const named = { params: z.strictObject({ program: HarnessName, account: AccountName }) } as const;
const dryRun = z.boolean().optional();

export const listAccounts = defineRoute({
  ...own,
  op: 'listAccounts',
  summary: 'Lists the accounts of agent programs, which programs can have several, and why the others cannot',
  method: 'GET',
  path: `${base}/accounts`,
  auth: people,
  scope: 'agents:read',
  answers: {
    200: z.strictObject({
      accounts: z.array(Account),
      programs: z.array(
        z.strictObject({
          program: HarnessName,
          title: z.string(),
          variable: z.string().nullable().meta({ description: 'Names the folder to the program; null: it has none.' }),
          why: z.string().nullable().meta({ description: 'Why it cannot have several accounts; null: it can.' }),
        }),
      ),
    }),
  },
});

/** Only a person may, because an account is their sign-in. */
const person = ['owner', 'user', 'link'] as const;

export const addAccount = defineRoute({
  ...own,
  op: 'addAccount',
  summary: 'Adds an account and opens the program’s own sign-in for it in a terminal',
  method: 'POST',
  path: `${base}/accounts`,
  auth: person,
  scope: 'bots:act',
  body: z.strictObject({ program: HarnessName, account: AccountName, dryRun }),
  answers: {
    200: z.union([
      z.strictObject({ account: Account }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ folder: z.string(), runs: z.string() }) }),
    ]),
  },
});

export const signInAccount = defineRoute({
  ...own,
  ...named,
  op: 'signInAccount',
  summary: 'Opens the program’s own sign-in for an account in a terminal, again if it has ended',
  method: 'POST',
  path: `${base}/accounts/:program/:account/sign-in`,
  auth: person,
  scope: 'bots:act',
  body: z.strictObject({ dryRun }),
  answers: {
    200: z.union([
      z.strictObject({ account: Account }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ folder: z.string(), runs: z.string() }) }),
    ]),
  },
});

export const removeAccount = defineRoute({
  ...own,
  ...named,
  op: 'removeAccount',
  summary: 'Removes an account with its folder: sign-in, settings and conversations. Refused while a bot uses it',
  method: 'DELETE',
  path: `${base}/accounts/:program/:account`,
  auth: person,
  scope: 'bots:act',
  query: z.strictObject({ dryRun: QueryFlag }),
  answers: {
    200: z.union([
      z.strictObject({ removed: Account }),
      z.strictObject({ dryRun: z.literal(true), plan: z.strictObject({ removes: z.string() }) }),
    ]),
  },
});

export const accountRoutes = [listAccounts, addAccount, signInAccount, removeAccount] as const;
