/**
 * Several sign-ins of one agent program, each in a folder of its own that the program's own variable names. What a program needs for that is in its
 * `program.ts`. Must not know who uses which account, nor when.
 */
import { randomUUID } from 'node:crypto';
import { constants, existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, realpath, rename } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import type { HarnessName } from '../../contracts/factory/agent.ts';
import type { Environment } from './environment.ts';
import type { BotSpec } from './harness.ts';
import type { AccountPlace } from './program.ts';
import { programs } from './programs.ts';
import { parseObject } from './values.ts';

type PaidBy = AccountPlace['signs'][number]['paidBy'];
type Facts = Readonly<Record<string, unknown>>;

/** Null: it cannot have several accounts. */
export function accountPlace(harness: HarnessName): AccountPlace | null {
  const { accounts } = programs[harness];
  return typeof accounts === 'string' ? null : accounts;
}

/** Below `GANTRY_HOME`. */
export const accountsIn = (home: string): string => join(home, 'accounts');

export const accountFolder = (accounts: string, harness: HarnessName, name: string): string =>
  join(accounts, harness, name);

/** The folder of the person's own sign-in. */
export function ownFolder({ variable, own }: AccountPlace, env: Environment, home: string): string {
  return env[variable] || join(home, own);
}

/** The bot with what makes its program use its account. */
export function signedInAs(bot: BotSpec, accounts: string | undefined): BotSpec {
  const place = accountPlace(bot.harness);
  if (bot.account === undefined || place === null || accounts === undefined) return bot;
  const env = { ...bot.env, [place.variable]: accountFolder(accounts, bot.harness, bot.account) };
  return { ...bot, env, without: place.without };
}

/** What the files in an account's folder say about its sign-in. `signedIn` null: nothing; it may be stored elsewhere. */
export function readSignIn(
  harness: HarnessName,
  folder: string,
): { readonly signedIn: boolean | null; readonly paidBy: PaidBy | null } {
  const found = accountPlace(harness)?.signs.find(({ file, field }) => {
    const path = join(folder, file);
    if (field === null) return existsSync(path);
    const value = readObject(path)?.[field];
    return value !== undefined && value !== null && value !== '';
  });
  if (found !== undefined) return { signedIn: true, paidBy: found.paidBy };
  return { signedIn: programs[harness].signIn?.hidden === true ? null : false, paidBy: null };
}

function readObject(file: string): Facts | null {
  try {
    return parseObject(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * The facts of a bot's last start as the next one needs them: its transcript lies in the folder of the account that it starts with, copied from that
 * of the account before. Without a transcript where that cannot be: then it begins a new conversation.
 */
export async function carryConversation(
  bot: BotSpec,
  facts: Facts,
  { accounts, env, home }: { readonly accounts?: string | undefined; readonly env: Environment; readonly home: string },
): Promise<Facts> {
  const place = accountPlace(bot.harness);
  const { transcript } = facts;
  if (place === null || accounts === undefined || bot.resume !== true || typeof transcript !== 'string') return facts;
  const all = join(accounts, bot.harness);
  const real = await realpath(all).catch(() => all);
  const before = firstBelow(all, transcript) ?? firstBelow(real, transcript);
  if (before === (bot.account ?? null)) return facts;
  const own = ownFolder(place, { ...env, ...bot.env }, home);
  const from = before === null ? own : join(all, before);
  const to = bot.account === undefined ? own : join(all, bot.account);
  const copied = place.transcripts === null ? null : await copyBelow(transcript, from, to, place.transcripts);
  return { ...facts, transcript: copied ?? undefined };
}

function firstBelow(folder: string, path: string): string | null {
  const way = relative(folder, path);
  return isAbsolute(way) || way.startsWith('..') ? null : (way.split(sep)[0] ?? null);
}

/**
 * A program can name any file as its transcript, and put links into its folder: only a file that truly lies in `from` is copied, and only to where
 * `to` has no links. Null: it was not.
 */
async function copyBelow(file: string, from: string, to: string, below: string): Promise<string | null> {
  try {
    const way = relative(await realpath(from), await realpath(file));
    if (isAbsolute(way) || !way.startsWith(`${below}${sep}`) || !(await lstat(await realpath(file))).isFile())
      return null;
    let folder = to;
    for (const name of dirname(way).split(sep)) {
      folder = join(folder, name);
      await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
      if (!(await lstat(folder)).isDirectory()) return null;
    }
    const target = join(to, way);
    const fresh = join(folder, `.${randomUUID()}.part`);
    await copyFile(await realpath(file), fresh, constants.COPYFILE_EXCL);
    await chmod(fresh, 0o600);
    await rename(fresh, target);
    return target;
  } catch {
    return null;
  }
}
