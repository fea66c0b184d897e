/**
 * Accepts a team from another computer: checks everything first, then creates workspace, team folder and bots. A failure on the way is reported bot
 * by bot, in the same shape as success. Must not know HTTP or tickets.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { PeerBotResult, PeerUpRequest, PeerUpResult } from '../../contracts/factory/peer-routes.ts';
import { noAccounts } from '../agents/accounts/accounts.ts';
import { type BotSandboxes, sandboxFacts } from '../agents/bot-sandboxes.ts';
import type { Member } from '../agents/member.ts';
import { addressOf } from '../agents/model.ts';
import { type ResolvedTeam, resolveTeam } from '../agents/team-file/resolve.ts';
import { type Hindrance, planUp, TeamHindered } from '../agents/team-plan.ts';
import type { Actor } from '../base/actor.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Trust } from '../trust/index.ts';
import type { Clones } from './clone.ts';
import type { Crews } from './crews.ts';
import { guestFile, guestHindrances, isInside } from './guest-rules.ts';
import { placeUpload, readUpload } from './upload.ts';
import { uploadHash } from './upload-hash.ts';

/** `ok` false: a step failed; nothing new runs. */
type Brought = { readonly ok: boolean; readonly result: PeerUpResult };
export type Bring = (
  user: string,
  name: string,
  request: PeerUpRequest,
  by: Actor,
  onProgress?: OnProgress,
) => Promise<Brought>;

export function createBring(deps: {
  readonly crews: Crews;
  readonly clones: Clones;
  readonly harnesses: Pick<Harnesses, 'found'>;
  readonly userHome: string;
  readonly trust: Pick<Trust, 'sayYes'>;
  readonly sandboxes: Pick<BotSandboxes, 'wanted' | 'missing'>;
  readonly computerId: string;
  /** A fresh name part. */
  readonly mark: () => string;
}): Bring {
  const { crews, clones } = deps;
  /** One change of a user's team at a time. */
  const busy = new Map<string, Promise<unknown>>();

  const bring: Bring = async (user, name, request, by, onProgress) => {
    const { root } = crews.placeOf(user, name);
    const uploaded = readUpload(name, request.files, { root, userHome: deps.userHome });
    const named = new Set(request.bots);
    const whole = { name, ...uploaded };
    const preset = request.preset ?? null;
    refuseUnknown(whole.file, named, request.preset);
    if (request.repo !== undefined) clones.check(request.repo);

    const around = { workspace: root, userHome: deps.userHome };
    const teamFolder = join(root, '.gantry', 'teams', name);
    // A clone's files are known only once it is there; the team folder is checked with its team file.
    const isMissing = (folder: string) =>
      request.repo === undefined && folder !== root && !isInside(teamFolder, folder) && !existsSync(folder);
    const hindrances = guestHindrances(resolveTeam(whole, preset, around), named, { root, isMissing });
    const team = resolveTeam({ ...whole, file: guestFile(whole.file) }, preset, around);
    const before = crews.find(user, name)?.registry.members(name) ?? [];
    const facts = {
      members: before,
      found: await deps.harnesses.found(),
      computerId: deps.computerId,
      only: named,
      forGuests: true,
      accounts: noAccounts,
      ...(await sandboxFacts(deps.sandboxes, team)),
    };
    const plan = planUp(team, facts);
    const failed = [...hindrances, ...plan.hindrances];
    const answer = (ok: boolean, applied: boolean, results: PeerBotResult[]): Brought => ({
      ok,
      // The caller has the file itself, and an older one refuses fields that it does not know.
      result: { plan: plan.steps.map(({ start: _, ...step }) => step), applied, results, root },
    });
    const failure = (why: readonly Hindrance[] | AppError) =>
      answer(false, false, failedResults(team, named, before, why));
    if (failed.length > 0) return failure(failed);
    if (request.trusted !== uploadHash(request.files)) return failure(notAgreed(name));
    if (request.dryRun === true) return answer(true, false, results(team, named, before, before, 'planned'));

    try {
      const live = before.some((member) => member.live);
      if (request.repo !== undefined) await clones.prepare(root, request.repo, live, onProgress);
      await placeUpload(root, name, request.files, deps.mark());
      const text = request.files['team.yaml'] ?? '';
      await deps.trust.sayYes([{ path: join(root, '.gantry', 'teams', name, 'team.yaml'), text }], by);
      const crew = await crews.ensure(user, name);
      const asked = request.preset === undefined ? {} : { preset: request.preset };
      await crew.teams.up(name, { ...asked, only: named }, by);
      return answer(true, true, results(team, named, before, crew.registry.members(name), 'started'));
    } catch (error) {
      if (error instanceof TeamHindered) return failure(error.hindrances);
      if (error instanceof AppError && error.code !== 'internal') return failure(error);
      throw error;
    }
  };

  return async (user, name, request, by, onProgress) => {
    const key = join(user, name);
    const task = () => bring(user, name, request, by, onProgress);
    const mine = (busy.get(key) ?? Promise.resolve()).then(task, task);
    busy.set(key, mine);
    try {
      return await mine;
    } finally {
      if (busy.get(key) === mine) busy.delete(key);
    }
  };
}

/** Only the computer where its person sits knows what they agreed to; this one cannot ask them. */
function notAgreed(name: string): AppError {
  return new AppError(
    'needs_person',
    `The team ${name} came without its person's yes to exactly these files.`,
    'On the computer that sent it, update Gantry, run `gantry trust`, then start the team again.',
  );
}

function refuseUnknown(
  file: { bots: readonly { bot: string }[]; presets?: Readonly<Record<string, unknown>> | undefined },
  named: ReadonlySet<string>,
  preset: string | undefined,
): void {
  const unknown = [...named].find((slug) => !file.bots.some((bot) => bot.bot === slug));
  if (unknown !== undefined) {
    const known = file.bots.map((bot) => bot.bot).join(', ');
    throw new AppError('usage', `bots: the team has no bot "${unknown}".`, `It has: ${known}.`);
  }
  if (preset === undefined || Object.hasOwn(file.presets ?? {}, preset)) return;
  const known = Object.keys(file.presets ?? {}).join(', ') || 'none';
  throw new AppError('usage', `The team has no preset "${preset}".`, `It has: ${known}.`);
}

type Members = readonly Member[];

function results(
  team: ResolvedTeam,
  named: ReadonlySet<string>,
  before: Members,
  after: Members,
  fresh: 'planned' | 'started',
): PeerBotResult[] {
  const liveIn = (members: Members, slug: string) => members.find((member) => member.slug === slug && member.live);
  return team.bots
    .filter((bot) => named.has(bot.slug))
    .map((bot) => {
      const now = liveIn(after, bot.slug);
      const harness = now?.spec?.harness;
      return {
        agent: addressOf(bot.slug, team.name),
        state: liveIn(before, bot.slug) === undefined ? fresh : 'running',
        session: now?.panes.at(-1) ?? null,
        ...(harness === undefined ? {} : { harness }),
      };
    });
}

/** Only the named bots, in the order of the request; one error may apply to all. */
function failedResults(
  team: ResolvedTeam,
  named: ReadonlySet<string>,
  before: Members,
  why: readonly Hindrance[] | AppError,
): PeerBotResult[] {
  return [...named].map((slug): PeerBotResult => {
    const agent = addressOf(slug, team.name);
    const live = before.find((member) => member.slug === slug && member.live);
    const session = live?.panes.at(-1) ?? null;
    if (why instanceof AppError) return { agent, state: 'failed', session, error: why.toFactory().error };
    const own = why.find((one) => one.address === agent);
    if (own === undefined) return { agent, state: live === undefined ? 'not_started' : 'running', session };
    return { agent, state: 'failed', session, error: { code: 'usage', fact: own.fact, action: own.action } };
  });
}
