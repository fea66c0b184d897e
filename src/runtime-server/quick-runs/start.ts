/**
 * Starts a run from a prompt: checks the bots, the repository and the images, then makes the team, the worktrees and the run, whole or not at all.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { largestQuickImage, type QuickPlan, type QuickWho } from '../../contracts/factory/quick-run-routes.ts';
import type { SandboxMode } from '../../contracts/factory/team-file.ts';
import type { WorkBudget } from '../../contracts/factory/workflow.ts';
import { ownFolder, writeWithin } from '../../kit/files/within.ts';
import type { Git } from '../../kit/process/git.ts';
import type { BotSandboxes } from '../agents/bot-sandboxes.ts';
import type { TeamFolder } from '../agents/team-file/folder.ts';
import { resolveCwd } from '../agents/team-file/read.ts';
import type { TeamService } from '../agents/team-service.ts';
import type { WorktreeService, Worktrees } from '../agents/worktrees/index.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import type { WorkspaceTrusts } from '../trust/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { hasCampaign, insertCampaign } from '../workflows/store/campaigns.ts';
import { readTemplate } from '../workflows/template/read.ts';
import { type Repository, realOf, repositoryAt } from './repository.ts';
import { addressIn } from './shown.ts';
import { insertQuickRun, type QuickRunRecord, removeQuickRun, type Setup, setDag } from './store.ts';
import type { QuickTeams } from './teams.ts';

/** The board of all new runs. */
const quickCampaign = 'quick';

export interface StartRequest {
  readonly repository: string;
  readonly prompt: string;
  readonly who: readonly QuickWho[];
  readonly title?: string | undefined;
  readonly images?: readonly { readonly name: string; readonly data: string }[] | undefined;
  readonly sandbox?: SandboxMode | undefined;
  readonly budget?: WorkBudget | undefined;
  readonly dryRun?: boolean | undefined;
}

/** Starts the run and returns the name of its team, or only its plan. */
type StartQuickRun = (
  request: StartRequest,
  by: Actor,
) => Promise<{ readonly team: string } | { readonly dryRun: true; readonly plan: QuickPlan }>;

export type StartDeps = Pick<Base, 'store' | 'ledger' | 'clock' | 'ids'> & {
  readonly workspace: string;
  readonly userHome: string;
  readonly home: string;
  readonly git: Git;
  readonly quickTeams: QuickTeams;
  readonly folder: TeamFolder;
  readonly teams: Pick<TeamService, 'up' | 'down' | 'refresh'>;
  readonly worktrees: Pick<Worktrees, 'create'> & Pick<WorktreeService, 'remove' | 'placeOf'>;
  readonly runs: Pick<Workflows['runs'], 'start'>;
  readonly harnesses: Pick<Harnesses, 'found'>;
  readonly models: Pick<Models, 'find'>;
  readonly trust: Pick<WorkspaceTrusts, 'demandSettings'>;
  readonly sandboxes: Pick<BotSandboxes, 'strictest'>;
};

export function createStart(deps: StartDeps): StartQuickRun {
  const { store, workspace, quickTeams, git, worktrees } = deps;

  /** The set-up that a team of the workspace gives to bots of the same repository; its person has agreed to that file. */
  function setupFor(top: string): Setup | null {
    for (const { file } of deps.folder.all()) {
      for (const bot of file?.bots ?? []) {
        const setup = bot.worktree === true ? (bot.setup ?? file?.setup) : undefined;
        if (setup !== undefined && realOf(resolveCwd(bot.cwd, deps)) === top) return setup;
      }
    }
    return null;
  }

  const isTaken = (name: string) =>
    quickTeams.runs().some((run) => run.team === name) || deps.folder.get(name) !== null;

  async function planOf(request: StartRequest): Promise<{ plan: QuickPlan; repository: Repository }> {
    const repository = await repositoryAt(git, request.repository, deps.home);
    await checkWho(deps, request.who, repository.top);
    const title = request.title ?? titleOf(request.prompt);
    const bots: QuickPlan['bots'] = [];
    for (const bot of namesOf(request.who)) bots.push({ ...bot, sandbox: await sandboxOf(bot, request) });
    const { top, branch, commit } = repository;
    return { plan: { title, repository: top, baseBranch: branch, baseCommit: commit, bots }, repository };
  }

  async function sandboxOf({ harness }: NamedBot, { sandbox }: StartRequest): Promise<SandboxMode> {
    if (harness === null) return 'none';
    return sandbox ?? (await deps.sandboxes.strictest([{ harness, env: {}, cwd: null }])).mode;
  }

  async function ensureCampaign(by: Actor): Promise<void> {
    if (await store.read((tx) => hasCampaign(tx, workspace, quickCampaign))) return;
    const campaign = { id: quickCampaign, projectId: null, title: 'New runs', intent: 'Runs started from a prompt.' };
    await store.write((tx) => {
      if (hasCampaign(tx, workspace, quickCampaign)) return;
      insertCampaign(tx, workspace, { ...campaign, owner: by.actor, executor: null }, deps.clock.now());
      const subject = `campaign:${quickCampaign}`;
      deps.ledger.append(tx, { type: 'campaign.created', subject, ...by, body: { v: 1, ...campaign } });
    });
  }

  return async function start(request: StartRequest, by: Actor) {
    const bytes = checkImages(request.images ?? []);
    const { plan, repository } = await planOf(request);
    if (request.dryRun === true) return { dryRun: true as const, plan };
    const record: QuickRunRecord = {
      team: teamNameFor(plan.title, isTaken, () => deps.ids.next('run')),
      dagId: null,
      title: plan.title,
      prompt: request.prompt,
      repository: repository.top,
      baseBranch: repository.branch,
      baseCommit: repository.commit,
      setup: setupFor(repository.top),
      savedAs: null,
      createdAt: deps.clock.now(),
      bots: plan.bots.map(({ name, ...bot }) => ({ ...newBot, ...bot, slug: name })),
    };
    const { team } = record;
    await ensureCampaign(by);
    await quickTeams.change(team, (tx) => insertQuickRun(tx, workspace, record));
    try {
      await deps.teams.refresh();
      await deps.teams.up(team, {}, by);
      const prompt = await giveImages(worktrees, record, request.images, bytes);
      const { budget } = request;
      const begin = { template: 'quick', campaignId: quickCampaign, params: { prompt }, team, budget };
      await deps.runs.start(begin, by, templateOf(record), (tx, dagId) => setDag(tx, workspace, team, dagId));
    } catch (error) {
      // Whole or not at all. A worktree that was made holds no work yet.
      await deps.teams.down(team, by).catch(() => {});
      for (const bot of record.bots) await worktrees.remove(addressIn(record, bot)).catch(() => {});
      await quickTeams.change(team, (tx) => removeQuickRun(tx, workspace, team));
      await deps.teams.refresh();
      throw error;
    }
    await quickTeams.load();
    return { team };
  };
}

/** Throws every reason why these bots cannot be started that can be known before. */
async function checkWho(
  { harnesses, models, trust }: Pick<StartDeps, 'harnesses' | 'models' | 'trust'>,
  who: readonly QuickWho[],
  top: string,
): Promise<void> {
  const found = await harnesses.found();
  for (const { harness, model } of who) {
    if (harness === undefined) {
      const one = models.find(model ?? '');
      if ('problem' in one) throw new AppError('usage', one.problem.fact, one.problem.action);
      continue;
    }
    const facts = found.find(({ name }) => name === harness);
    if (facts?.installed !== true) {
      const fact = `${harness} is not installed: ${facts?.detail ?? 'it is unknown here.'}`;
      throw new AppError('usage', fact, facts?.fix ?? 'Choose another agent program.');
    }
    if (facts.signedIn === false) {
      const fact = `${harness} is not signed in on this computer.`;
      throw new AppError('refused', fact, facts.fix ?? `Sign in to ${harness}, then try again.`, { status: 409 });
    }
    trust.demandSettings(harness, top, false);
  }
}

function checkImages(images: NonNullable<StartRequest['images']>): Buffer[] {
  return images.map(({ name, data }) => {
    const bytes = Buffer.from(data, 'base64');
    if (bytes.length > 0 && bytes.length <= largestQuickImage) return bytes;
    const fact = bytes.length === 0 ? `${name} is empty.` : `${name} is larger than 5 MiB.`;
    throw new AppError('usage', fact, 'Send smaller images.');
  });
}

/** Words of the title and four characters of an id, so that it can be read and is free. */
function teamNameFor(title: string, isTaken: (name: string) => boolean, nextId: () => string): string {
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 32)
    .replace(/-+$/, '');
  for (;;) {
    const name = `${words === '' ? 'run' : words}-${nextId().slice(-4).toLowerCase()}`;
    if (!isTaken(name)) return name;
  }
}

/** Puts the images into the folder of each bot; returns the prompt that names them. */
async function giveImages(
  worktrees: Pick<Worktrees, 'create'> & Pick<WorktreeService, 'placeOf'>,
  run: QuickRunRecord,
  images: StartRequest['images'],
  bytes: readonly Buffer[],
) {
  if (images === undefined || images.length === 0) return run.prompt;
  const paths = images.map(({ name }, index) => `.gantry/images/${index + 1}-${name}`);
  for (const bot of run.bots) {
    await worktrees.create(run.repository, run.team, bot.slug);
    const place = worktrees.placeOf(addressIn(run, bot));
    if (place === null) continue;
    // A repository may have links of these names; nothing is written through them.
    ownFolder(place.root, join('.gantry', 'images'));
    writeWithin(place.root, join('.gantry', 'images', '.gitignore'), '*\n');
    for (const [index, path] of paths.entries()) {
      const target = join(place.root, path);
      if (!existsSync(target)) await writeFile(target, bytes[index] ?? Buffer.alloc(0), { flag: 'wx' });
    }
  }
  return `${run.prompt}\n\nImages, as files in your folder:\n${paths.map((path) => `- ${path}`).join('\n')}`;
}

const newBot = {
  outcome: null,
  outcomeAt: null,
  branch: null,
  keptAs: null,
  diff: null,
  diffBase: null,
  diffHead: null,
};

const titleOf = (prompt: string): string => (prompt.trim().split('\n', 1)[0] ?? '').trim().slice(0, 80);

type NamedBot = Omit<QuickPlan['bots'][number], 'sandbox'>;

/** The program, or the model without its provider; with a number where several have the same name. */
function namesOf(who: readonly QuickWho[]): NamedBot[] {
  const taken = new Set<string>();
  return who.map(({ harness, model }) => {
    const plain =
      harness ??
      (model ?? '')
        .replace(/^.*\//, '')
        .toLowerCase()
        .replace(/[^a-z0-9_]+/g, '-')
        .slice(0, 40);
    const base = plain.replace(/^-+|-+$/g, '') || 'bot';
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
    taken.add(name);
    return { name, harness: harness ?? null, model: model ?? null };
  });
}

/** One step for each bot. The prompt is a value, so that braces in it mean nothing. */
function templateOf({ title, team, bots }: QuickRunRecord) {
  const shown = title.replaceAll('{{', '{ {');
  const file = {
    name: shown,
    params: [{ name: 'prompt', required: true }],
    steps: bots.map(({ slug }) => ({
      id: slug,
      title: shown,
      description: '{{ params.prompt }}',
      executor: `bot:${slug}@${team}`,
      on_fail: 'continue',
    })),
  };
  const read = readTemplate(JSON.stringify(file), 'quick', 'json');
  if (!read.ok) throw new Error(`A new run makes no template: ${read.problems[0]?.message}`);
  return read.template;
}
