/**
 * Adopts a conversation that a person began with a harness outside of Gantry as a bot: finds it, refuses while a process has it open, writes the bot
 * into a team file and starts it with the harness's own resume. Must not know HTTP or how a harness is resumed.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Adoptable, adoptKeptSession, KeptSession } from '../../../contracts/factory/adopt-routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Actor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import { createMutex } from '../../harness/adapter.ts';
import type { PaneEngine } from '../../panes/pane-engine.ts';
import type { Trust } from '../../trust/trust.ts';
import type { Registry } from '../registry.ts';
import { createTeamFileEdits, withBot } from '../team-file/edit.ts';
import type { TeamFolder } from '../team-file/folder.ts';
import type { TeamService } from '../team-service.ts';
import { clockMs, openBy, type Running, runningHarnesses } from './open-by.ts';
import { type Kept, storedSessions } from './stored-sessions.ts';

const defaultTeam = 'adopted';
const maxShown = 200;
/** Between asking a process to end and ending it. */
const graceMs = 5000;
const lookEveryMs = 50;

type AdoptRequest = z.infer<NonNullable<(typeof adoptKeptSession)['body']>>;
type Adopted = z.infer<(typeof adoptKeptSession)['answers'][200]>;

export interface Adopting {
  list(wanted: { harness?: Adoptable | undefined; cwd?: string | undefined }): Promise<KeptSession[]>;
  adopt(request: AdoptRequest, by: Actor): Promise<Adopted>;
}

export interface AdoptingDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly workspace: string;
  readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
  readonly panes: Pick<PaneEngine, 'get' | 'list'>;
  readonly registry: Pick<Registry, 'members'>;
  readonly folder: Pick<TeamFolder, 'get' | 'folderOf' | 'refresh'>;
  readonly teams: Pick<TeamService, 'up' | 'refresh'>;
  /** Test seam: what runs on this computer. */
  readonly running?: () => Promise<Running[]>;
}

interface Found {
  readonly kept: Kept;
  readonly session: KeptSession;
  /** The process that has it open. */
  readonly holder: Running | null;
}

export function createAdopting(deps: AdoptingDeps): Adopting {
  const { folder, clock, timers, running = runningHarnesses } = deps;
  const turns = createMutex();
  const edits = createTeamFileEdits(deps);
  const places = { env: deps.env, home: deps.env.HOME || deps.userHome };

  /** The bot in whose pane a process runs. */
  function botOf(pid: number, processes: readonly Running[]): string | null {
    const parents = new Map(processes.map((one) => [one.pid, one.parent]));
    const live = deps.panes.list().filter(({ alive }) => alive);
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at)) {
      const pane = live.find((one) => one.pid === at);
      if (pane) return deps.registry.members().find(({ panes }) => panes.includes(pane.id))?.address ?? 'a bot';
    }
    return null;
  }

  function shown(session: Kept, all: readonly Kept[], processes: readonly Running[]): KeptSession {
    const { harness, id, title, cwd, lastUsed } = session;
    const open = openBy(session, processes, all);
    return {
      harness,
      id,
      title,
      cwd,
      lastUsed: iso(lastUsed),
      openBy: open && { ...open, bot: botOf(open.pid, processes) },
    };
  }

  async function find({ harness, id }: AdoptRequest): Promise<Found> {
    const [all, processes] = await Promise.all([storedSessions(places, { harness }), running()]);
    const kept = all.find((one) => one.id === id);
    if (!kept) {
      throw new AppError(
        'not_found',
        `${harness} has no conversation "${id}" on this computer.`,
        `List them with \`gantry agents sessions --harness ${harness}\`.`,
      );
    }
    const session = shown(kept, all, processes);
    return { kept, session, holder: processes.find(({ pid }) => pid === session.openBy?.pid) ?? null };
  }

  function refuseOpen({ harness, openBy }: KeptSession, takeOver: boolean): void {
    if (openBy === null) return;
    if (openBy.bot !== null) {
      throw new AppError(
        'refused',
        `This conversation is already running as ${openBy.bot}.`,
        'Send your message to that bot.',
      );
    }
    if (takeOver) return;
    const how = openBy.sure ? 'is open' : 'may be open';
    throw new AppError(
      'refused',
      `This conversation ${how} in ${harness} (process ${openBy.pid}); two programs would overwrite each other’s work.`,
      'Close it there first, or end that process with --take-over.',
    );
  }

  /** The process that was found, or nothing: its number may be another's by now. */
  async function end(holder: Running): Promise<void> {
    const { pid } = holder;
    const same = async () => (await running()).some((one) => isSame(one, holder));
    if (!(await same())) return;
    signal(pid, 'SIGTERM');
    const gone = async (ms: number): Promise<boolean> => {
      for (const until = clock.monotonic() + ms; clock.monotonic() < until; ) {
        if (!isAlive(pid)) return true;
        await new Promise<void>((resolve) => timers.after(lookEveryMs, resolve));
      }
      return !isAlive(pid);
    };
    if (await gone(graceMs)) return;
    if (await same()) signal(pid, 'SIGKILL');
    if (await gone(graceMs)) return;
    throw new AppError('refused', `Process ${pid} did not end.`, 'End it by hand, then adopt the conversation again.');
  }

  function nameOf(request: AdoptRequest, team: string): string {
    const taken = new Set([
      ...(folder.get(team)?.file?.bots.map(({ bot }) => bot) ?? []),
      ...deps.registry.members(team).map(({ slug, live }) => (live ? slug : '')),
    ]);
    if (request.as !== undefined) {
      if (!taken.has(request.as)) return request.as;
      throw new AppError(
        'refused',
        `Team ${team} already has a bot "${request.as}".`,
        'Give it another name with --as.',
      );
    }
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? request.harness : `${request.harness}-${number}`;
      if (!taken.has(name)) return name;
    }
  }

  async function take(request: AdoptRequest, by: Actor): Promise<Adopted> {
    const { kept, session, holder } = await find(request);
    refuseOpen(session, request.takeOver === true);
    if (!existsSync(kept.cwd)) {
      throw new AppError(
        'refused',
        `The folder of this conversation is gone: ${kept.cwd}`,
        'An agent program resumes a conversation only in its folder: restore the folder first.',
      );
    }
    folder.refresh();
    const team = request.team ?? defaultTeam;
    const slug = nameOf(request, team);
    const before = edits.agreedText(team);
    const next = withBot(before, { bot: slug, harness: kept.harness, cwd: kept.cwd });
    const applied = request.dryRun !== true;
    const ends = holder?.pid ?? null;
    if (applied) {
      if (holder !== null) await end(holder);
      await edits.write(team, next.text, by);
      folder.refresh();
      await deps.teams.refresh();
      const adopts = new Map([[slug, { sessionId: kept.id, transcript: kept.file }]]);
      try {
        await deps.teams.up(team, { only: new Set([slug]), adopts }, by);
      } catch (fault) {
        // Whole or not at all: the file is as it was.
        await (before === null ? rm(edits.pathOf(team), { force: true }) : edits.write(team, before, by));
        folder.refresh();
        await deps.teams.refresh();
        throw fault;
      }
    }
    return {
      session,
      bot: `${slug}@${team}`,
      file: edits.shown(team),
      lines: next.lines,
      ends,
      applied,
    };
  }

  return {
    async list(wanted) {
      const [all, processes] = await Promise.all([storedSessions(places, wanted), running()]);
      return all.slice(0, maxShown).map((session) => shown(session, all, processes));
    },
    // One after the other: each reads the team file, and writes it again.
    adopt: (request, by) => turns.run(() => take(request, by)),
  };
}

/** Compares start times, which a later process of the same number cannot share; where they are unknown, the command lines. */
function isSame(one: Running, { pid, harness, args, since }: Running): boolean {
  if (one.pid !== pid || one.harness !== harness) return false;
  if (one.since !== null && since !== null) return Math.abs(one.since - since) <= clockMs;
  return one.args.join('\0') === args.join('\0');
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone by now.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
