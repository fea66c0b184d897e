/**
 * New runs: a prompt becomes a team of its own, a worktree for each of its bots and a run with one step for each, in the campaign `quick`. A person
 * then merges, keeps or discards the work of each bot. Composes teams, worktrees and runs; must not know HTTP.
 */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { AppError } from '../../contracts/common/errors.ts';
import { closedNodeStatuses, type NodeCard } from '../../contracts/factory/node.ts';
import {
  largestQuickImage,
  type QuickBot,
  type QuickChoices,
  type QuickOutcome,
  type QuickPlan,
  type QuickRun,
  type QuickWho,
} from '../../contracts/factory/quick-run-routes.ts';
import { maxPatchLength, type WorktreeDiff } from '../../contracts/factory/worktree-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { ownFolder, writeWithin } from '../../kit/files/within.ts';
import type { Git } from '../../kit/process/git.ts';
import type { BotTokens } from '../agents/bot-homes.ts';
import type { Registry } from '../agents/registry.ts';
import type { TeamFolder } from '../agents/team-file/folder.ts';
import { resolveCwd } from '../agents/team-file/read.ts';
import type { TeamService } from '../agents/team-service.ts';
import type { WorktreeService, Worktrees } from '../agents/worktrees/index.ts';
import { changesOf } from '../agents/worktrees/look.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import type { WorkspaceTrusts } from '../trust/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { hasCampaign, insertCampaign } from '../workflows/store/campaigns.ts';
import { readTexts } from '../workflows/store/pages.ts';
import { readTemplate } from '../workflows/template/read.ts';
import { choicesOf } from './choices.ts';
import { type Repository, realOf, repositoryAt } from './repository.ts';
import {
  insertQuickRun,
  type QuickBotRecord,
  type QuickRunRecord,
  removeQuickRun,
  type Setup,
  setDag,
  setOutcome,
  setSavedAs,
} from './store.ts';
import { fileOf, type QuickTeams } from './teams.ts';

export { quickRunMigrations } from './migrations.ts';
export { createQuickTeams } from './teams.ts';

/** The board of all new runs. */
const quickCampaign = 'quick';

interface StartRequest {
  readonly repository: string;
  readonly prompt: string;
  readonly who: readonly QuickWho[];
  readonly title?: string | undefined;
  readonly images?: readonly { readonly name: string; readonly data: string }[] | undefined;
  readonly dryRun?: boolean | undefined;
}

type QuickRunDiff = Pick<WorktreeDiff, 'branch' | 'base' | 'head' | 'files' | 'patch' | 'cut'>;

export interface QuickRuns {
  choices(): Promise<QuickChoices>;
  list(paging: { limit?: number | undefined; cursor?: string | undefined }): Promise<{
    runs: QuickRun[];
    nextCursor: string | null;
  }>;
  has(id: string): boolean;
  get(id: string): Promise<QuickRun>;
  /** What a bot changed, also after its outcome. `not_found` when git no longer has its commits. */
  diff(id: string, bot: string): Promise<QuickRunDiff>;
  start(request: StartRequest, by: Actor): Promise<QuickRun | { dryRun: true; plan: QuickPlan }>;
  end(
    id: string,
    request: { bot: string; outcome: QuickOutcome; dryRun?: boolean | undefined },
    by: Actor,
  ): Promise<{ run: QuickRun; steps: string[] } | { dryRun: true; plan: { steps: string[] } }>;
  save(
    id: string,
    request: { team: string; dryRun?: boolean | undefined },
    by: Actor,
  ): Promise<{ team: string; file: string; text: string; applied: boolean }>;
}

interface QuickRunsDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'ids' | 'log'> {
  readonly workspace: string;
  readonly userHome: string;
  readonly home: string;
  readonly git: Git;
  readonly quickTeams: QuickTeams;
  readonly folder: TeamFolder;
  readonly teams: Pick<TeamService, 'up' | 'down' | 'refresh'>;
  readonly registry: Pick<Registry, 'find' | 'members' | 'stop'>;
  readonly tokens: Pick<BotTokens, 'revoke'>;
  readonly worktrees: Pick<Worktrees, 'create'> &
    Pick<WorktreeService, 'diff' | 'end' | 'sizeOf' | 'remove' | 'placeOf'>;
  readonly workflows: Pick<Workflows, 'runs' | 'pages' | 'verbs'>;
  readonly harnesses: Pick<Harnesses, 'found'>;
  readonly models: Pick<Models, 'find' | 'endpoints'>;
  readonly trust: Pick<WorkspaceTrusts, 'demandSettings' | 'sayYes'>;
}

export function createQuickRuns(deps: QuickRunsDeps): QuickRuns {
  const { store, workspace, quickTeams, git, registry, worktrees } = deps;
  const addressOf = (run: QuickRunRecord, bot: QuickBotRecord) => `${bot.slug}@${run.team}`;

  function mustFind(id: string): QuickRunRecord & { readonly dagId: string } {
    const run = quickTeams.run(id);
    if (run === null || run.dagId === null) {
      throw new AppError('not_found', `No new run has the id ${JSON.stringify(id)}.`, 'List them: gantry do --list');
    }
    return { ...run, dagId: run.dagId };
  }

  function mustFindBot(id: string, name: string) {
    const run = mustFind(id);
    const seq = run.bots.findIndex(({ slug }) => slug === name);
    const bot = run.bots[seq];
    if (bot === undefined) {
      const names = run.bots.map(({ slug }) => slug).join(', ');
      throw new AppError('not_found', `The run has no bot ${JSON.stringify(name)}.`, `It has: ${names}.`);
    }
    return { run, bot, seq };
  }

  /** A worktree that git cannot read is no reason to show nothing of its run. */
  const sizeOf = (address: string) => worktrees.sizeOf(address).catch(() => null);

  async function botOf(
    run: QuickRunRecord & { dagId: string },
    bot: QuickBotRecord,
    card: NodeCard,
    said: string | null,
  ) {
    const address = addressOf(run, bot);
    const member = registry.find(address);
    const size = bot.outcome === null ? await sizeOf(address) : null;
    const shown: QuickBot = {
      agentId: member?.id ?? null,
      address,
      name: bot.slug,
      team: run.team,
      harness: bot.harness,
      model: bot.model,
      dagId: run.dagId,
      nodeId: card.nodeId,
      status: card.status,
      state: member?.shown.state ?? 'offline',
      stateReason: member?.shown.reason ?? null,
      lastLine: said,
      branch: bot.branch ?? size?.branch ?? null,
      diff: bot.diff ?? (size === null ? null : { files: size.files, added: size.added, removed: size.removed }),
      outcome: bot.outcome,
      outcomeAt: bot.outcomeAt === null ? null : iso(bot.outcomeAt),
    };
    return shown;
  }

  async function show(run: QuickRunRecord & { dagId: string }): Promise<QuickRun> {
    const { status, nodes } = await deps.workflows.pages.flow(run.dagId);
    const said = await store.read((tx) => nodes.map((_, seq) => lastLineOf(readTexts(tx, run.dagId, seq))));
    const bots = await Promise.all(
      run.bots.map((bot, seq) => botOf(run, bot, nodes[seq] as NodeCard, said[seq] ?? null)),
    );
    const { title, prompt, repository, baseBranch, baseCommit, savedAs } = run;
    const startedAt = iso(run.createdAt);
    return { id: run.dagId, title, prompt, repository, baseBranch, baseCommit, startedAt, status, savedAs, bots };
  }

  /** Every reason why these bots cannot be started that can be known before. */
  async function checkWho(who: readonly QuickWho[], top: string): Promise<void> {
    const found = await deps.harnesses.found();
    for (const { harness, model } of who) {
      if (harness === undefined) {
        const model_ = deps.models.find(model ?? '');
        if ('problem' in model_) throw new AppError('usage', model_.problem.fact, model_.problem.action);
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
      deps.trust.demandSettings(harness, top, false);
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

  function teamNameFor(title: string): string {
    const words = title
      .normalize('NFKD')
      .toLowerCase()
      .replace(/\p{M}/gu, '')
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+/, '')
      .slice(0, 32)
      .replace(/-+$/, '');
    for (;;) {
      const name = `${words === '' ? 'run' : words}-${deps.ids.next('run').slice(-4).toLowerCase()}`;
      const taken = quickTeams.runs().some((run) => run.team === name) || deps.folder.get(name) !== null;
      if (!taken) return name;
    }
  }

  async function planOf(request: StartRequest): Promise<{ plan: QuickPlan; repository: Repository }> {
    const repository = await repositoryAt(git, request.repository, deps.home);
    await checkWho(request.who, repository.top);
    const title = request.title ?? titleOf(request.prompt);
    const bots = namesOf(request.who);
    const { top, branch, commit } = repository;
    return { plan: { title, repository: top, baseBranch: branch, baseCommit: commit, bots }, repository };
  }

  async function giveImages(run: QuickRunRecord, images: StartRequest['images'], bytes: readonly Buffer[]) {
    if (images === undefined || images.length === 0) return run.prompt;
    const paths = images.map(({ name }, index) => `.gantry/images/${index + 1}-${name}`);
    for (const bot of run.bots) {
      await worktrees.create(run.repository, run.team, bot.slug);
      const place = worktrees.placeOf(addressOf(run, bot));
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

  async function start(request: StartRequest, by: Actor) {
    const bytes = checkImages(request.images ?? []);
    const { plan, repository } = await planOf(request);
    if (request.dryRun === true) return { dryRun: true as const, plan };
    const record: QuickRunRecord = {
      team: teamNameFor(plan.title),
      dagId: null,
      title: plan.title,
      prompt: request.prompt,
      repository: repository.top,
      baseBranch: repository.branch,
      baseCommit: repository.commit,
      setup: setupFor(repository.top),
      savedAs: null,
      createdAt: deps.clock.now(),
      bots: plan.bots.map(({ name, harness, model }) => ({ ...newBot, slug: name, harness, model })),
    };
    const { team } = record;
    await ensureCampaign(by);
    await quickTeams.change(team, (tx) => insertQuickRun(tx, workspace, record));
    try {
      await deps.teams.refresh();
      await deps.teams.up(team, {}, by);
      const prompt = await giveImages(record, request.images, bytes);
      const begin = { template: 'quick', campaignId: quickCampaign, params: { prompt }, team };
      await deps.workflows.runs.start(begin, by, templateOf(record), (tx, dagId) => setDag(tx, workspace, team, dagId));
    } catch (error) {
      // Whole or not at all. A worktree that was made holds no work yet.
      await deps.teams.down(team, by).catch(() => {});
      for (const bot of record.bots) await worktrees.remove(addressOf(record, bot)).catch(() => {});
      await quickTeams.change(team, (tx) => removeQuickRun(tx, workspace, team));
      await deps.teams.refresh();
      throw error;
    }
    await quickTeams.load();
    const started = quickTeams.runs().find((run) => run.team === team);
    return show(mustFind(started?.dagId ?? ''));
  }

  async function planEnd(
    run: QuickRunRecord,
    bot: QuickBotRecord,
    outcome: QuickOutcome,
    by: Actor,
  ): Promise<string[]> {
    const address = addressOf(run, bot);
    if (outcome === 'discarded') {
      const size = await sizeOf(address);
      return [
        ...(registry.find(address)?.live === true ? [`stop ${address}`] : []),
        ...(size?.hasWork === true ? [`set ${size.branch ?? 'its work'} aside; "kept" brings it back`] : []),
        ...(size === null ? [] : ['remove its worktree and branch']),
      ];
    }
    if (bot.outcome === 'discarded') return [`bring back ${bot.branch ?? 'its branch'}`];
    const how = outcome === 'merged' ? 'merge' : 'keep';
    const answer = await worktrees.end(how, address, { commit: run.title, dryRun: true }, by);
    return 'plan' in answer ? answer.plan.steps : [];
  }

  async function discard(run: QuickRunRecord, bot: QuickBotRecord, by: Actor): Promise<QuickBotRecord> {
    const address = addressOf(run, bot);
    const member = registry.find(address);
    if (member?.live === true) {
      await registry.stop(member.id);
      await deps.tokens.revoke(member.id);
    }
    const size = await worktrees.sizeOf(address);
    const aside = size?.hasWork === true ? await worktrees.end('discard', address, {}, by) : null;
    await worktrees.remove(address);
    const diff = size === null ? null : { files: size.files, added: size.added, removed: size.removed };
    const done = aside !== null && 'done' in aside ? aside.done : null;
    const commits = { diffBase: size?.base ?? null, diffHead: done?.head ?? null };
    return { ...bot, branch: done?.branch ?? null, keptAs: done?.keptAs ?? null, diff, ...commits };
  }

  /** The work of a discarded bot is still under its ref. */
  async function bringBack(run: QuickRunRecord, bot: QuickBotRecord): Promise<QuickBotRecord> {
    if (bot.keptAs === null || bot.branch === null) {
      throw conflict(`${bot.slug} had no work when it was discarded.`, 'There is nothing to bring back.');
    }
    await git.run(run.repository, ['branch', '--no-track', bot.branch, bot.keptAs]);
    return { ...bot, keptAs: null };
  }

  async function finish(run: QuickRunRecord, bot: QuickBotRecord, how: 'merge' | 'keep', by: Actor) {
    const address = addressOf(run, bot);
    const size = await worktrees.sizeOf(address);
    const answer = await worktrees.end(how, address, { commit: run.title }, by);
    const done = 'done' in answer ? answer.done : null;
    const diff = size === null ? null : { files: size.files, added: size.added, removed: size.removed };
    const diffHead = done?.head ?? null;
    // What a merge brought lies between the branch as it was and as it is.
    const merged = how === 'merge' && diffHead !== null;
    const diffBase = merged ? await git.run(run.repository, ['rev-parse', `${diffHead}^1`]) : (size?.base ?? null);
    return { ...bot, branch: done?.keptAs ?? done?.branch ?? null, diff, diffBase, diffHead };
  }

  /** The commits between which the work of an ended bot lies; null: it had no work. */
  async function commitsOf(run: QuickRunRecord, bot: QuickBotRecord): Promise<{ base: string; head: string } | null> {
    const { diffBase, diffHead, branch, keptAs } = bot;
    const gone = new AppError(
      'not_found',
      `The commits of ${addressOf(run, bot)} are no longer in ${run.repository}.`,
      'Look for the branch in another clone, or in the log of the branch that it was merged into.',
    );
    const has = (commit: string) =>
      git.try(run.repository, ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`]).catch(() => null);
    if (diffBase !== null && diffHead !== null) {
      if ((await has(diffHead))?.exitCode !== 0) throw gone;
      return { base: diffBase, head: diffHead };
    }
    if (bot.outcome === 'discarded' && keptAs === null) return null;
    // It ended before the commits were noted. A merged branch may have moved on, and shows nothing of its own.
    const ref = keptAs ?? (bot.outcome === 'kept' && branch !== null ? `refs/heads/${branch}` : null);
    const head = ref === null ? null : await has(ref);
    if (head?.exitCode !== 0) throw gone;
    const base = await git.run(run.repository, ['merge-base', run.baseCommit, head.stdout.trim()]);
    return { base, head: head.stdout.trim() };
  }

  async function diff(id: string, name: string): Promise<QuickRunDiff> {
    const { run, bot } = mustFindBot(id, name);
    if (bot.outcome === null) {
      const { branch, base, head, files, patch, cut } = await worktrees.diff(addressOf(run, bot));
      return { branch, base, head, files, patch, cut };
    }
    const commits = await commitsOf(run, bot);
    const { base, head } = commits ?? { base: run.baseCommit, head: run.baseCommit };
    const none = { files: [], patch: '', cut: false };
    const changes = commits === null ? none : await changesOf(git, run.repository, base, head, maxPatchLength);
    return { branch: bot.branch ?? bot.slug, base, head, ...changes };
  }

  /** The step of a discarded bot is given up; one that waits for a person's yes has it with a merge. */
  async function settleStep(run: QuickRunRecord & { dagId: string }, seq: number, outcome: QuickOutcome, by: Actor) {
    const card = (await deps.workflows.pages.flow(run.dagId)).nodes[seq];
    if (card === undefined || (closedNodeStatuses as readonly string[]).includes(card.status)) return;
    const ref = { dagId: run.dagId, nodeId: card.nodeId };
    const caller = { ...by, address: null };
    try {
      if (outcome === 'discarded') await deps.workflows.verbs.fail(ref, caller, 'Its work was discarded.');
      else if (card.status === 'needs_you') await deps.workflows.verbs.done(ref, caller, {});
    } catch (error) {
      // It moved on in the meantime, or cannot be ended so: the outcome counts all the same.
      if (!(error instanceof AppError)) throw error;
    }
  }

  async function end(
    id: string,
    request: { bot: string; outcome: QuickOutcome; dryRun?: boolean | undefined },
    by: Actor,
  ) {
    const { run, bot, seq } = mustFindBot(id, request.bot);
    const { outcome } = request;
    const back = bot.outcome === 'discarded' && outcome === 'kept';
    if (bot.outcome !== null && !back) {
      const more = bot.outcome === 'discarded' ? 'Keep it to bring its branch back.' : 'Start a new run for more work.';
      throw conflict(`The work of ${bot.slug} is already ${bot.outcome}.`, more);
    }
    const steps = await planEnd(run, bot, outcome, by);
    if (request.dryRun === true) return { dryRun: true as const, plan: { steps } };
    const ended =
      outcome === 'discarded'
        ? await discard(run, bot, by)
        : back
          ? await bringBack(run, bot)
          : await finish(run, bot, outcome === 'merged' ? 'merge' : 'keep', by);
    const outcomeAt = deps.clock.now();
    await quickTeams.change(run.team, (tx) => {
      setOutcome(tx, workspace, run.team, { ...ended, outcome, outcomeAt });
      const body = { v: 1, bot: addressOf(run, bot), outcome, branch: ended.branch, keptAs: ended.keptAs };
      deps.ledger.append(tx, { type: 'run.outcome', subject: `run:${run.dagId}`, ...by, body });
    });
    await settleStep(run, seq, outcome, by);
    await deps.teams.refresh();
    return { run: await show(mustFind(id)), steps };
  }

  async function save(id: string, request: { team: string; dryRun?: boolean | undefined }, by: Actor) {
    const run = mustFind(id);
    const { team } = request;
    const path = join(workspace, '.gantry', 'teams', team, 'team.yaml');
    const file = relative(workspace, path).replaceAll('\\', '/');
    deps.folder.refresh();
    if (deps.folder.get(team) !== null || existsSync(path)) {
      throw conflict(`A team is already called ${JSON.stringify(team)}.`, 'Choose another name.');
    }
    const text = stringify(fileOf(run));
    if (request.dryRun === true) return { team, file, text, applied: false };
    writeWithin(workspace, file, text);
    await deps.trust.sayYes([{ path, text }], by);
    await quickTeams.change(run.team, (tx) => setSavedAs(tx, workspace, run.team, team));
    deps.folder.refresh();
    await deps.teams.refresh();
    return { team, file, text, applied: true };
  }

  return {
    choices: () => choicesOf({ ...deps, teams: quickTeams }, git),
    async list({ limit = defaultLimit, cursor }) {
      const before = decodeCursor(cursor, idCursor);
      const started = quickTeams.runs().filter((run) => run.dagId !== null) as (QuickRunRecord & { dagId: string })[];
      const rows = started.reverse();
      const from = before === null ? 0 : rows.findIndex((run) => run.dagId === before) + 1;
      const { shown, nextCursor } = page(rows.slice(from, from + limit + 1), limit, (last) => encodeCursor(last.dagId));
      return { runs: await Promise.all(shown.map(show)), nextCursor };
    },
    has: (id) => quickTeams.run(id) !== null,
    get: async (id) => show(mustFind(id)),
    diff,
    start,
    end,
    save,
  };
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

/** The program, or the model without its provider; with a number where several have the same name. */
function namesOf(who: readonly QuickWho[]): QuickPlan['bots'] {
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

function lastLineOf({ output, progress }: { output: string | null; progress: string }): string | null {
  const last = (text: string) => text.trimEnd().split('\n').at(-1)?.trim() ?? '';
  // A line of progress begins with its time and author.
  const line = output !== null && output !== '' ? last(output) : last(progress).replace(/^- \S+ \S+: /, '');
  return line === '' ? null : line.slice(0, 300);
}

function conflict(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409 });
}
