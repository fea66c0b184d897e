/**
 * Watches the bots that have steps: what each does now, and, once one has been silent for too long, what is there of it: its transcript, its
 * processes, the files that it changed and the reports in its spool. Must not know runs.
 */
import { createHash } from 'node:crypto';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createGit, uncommitted } from '../../kit/process/git.ts';
import { readStat, treeOf } from '../../kit/process/process-tree.ts';
import { isReportName } from '../../kit/spool/bot-spool.ts';
import type { Tx } from '../../kit/store/store.ts';
import { type Member, paneOf } from '../agents/member.ts';
import type { Registry } from '../agents/registry.ts';
import type { Base } from '../base/base.ts';
import type { Activity } from '../harness/activity.ts';
import { freshTokens } from '../models/index.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { BotWatch, WorkPlaces } from './deps.ts';
import { minutesOf } from './instruction.ts';

/** Shown states in which silence means nothing: each says itself what is waited for. */
const excused: readonly string[] = ['starting', 'needs_you', 'blocked'];
const atRest: readonly string[] = ['idle', 'done'];
/** Between two looks at the processor time of its processes. */
const apartMs = 1000;
/** Files whose times are read. */
const maxFiles = 500;

const noActivity: Activity = { at: null, by: 'output', sameCall: null, sameScreen: null };
/** Stands for a bot that is not running. */
const nobody = {};

/** What is there of a silent bot. */
interface Found {
  readonly quietMs: number;
  readonly state: string;
  readonly reason: string | null;
  /** Null: it keeps none. */
  readonly transcriptMs: number | null;
  /** Null: it has none, or they cannot be read. */
  readonly processes: { readonly all: number; readonly busy: readonly string[] } | null;
  /** Null: its folder is in no repository. */
  readonly changed: number | null;
  readonly spooled: number;
}

export function createBotWatch(
  deps: Pick<Base, 'store' | 'clock' | 'timers'> & {
    readonly registry: Pick<Registry, 'find' | 'bot' | 'held'>;
    readonly panes: Pick<PaneEngine, 'engine' | 'get'>;
    readonly places: Pick<WorkPlaces, 'folderOf'>;
    /** Written here, shown elsewhere. By agent id. */
    readonly silences: Map<string, string>;
    /** Whether it asks a person, or was answered since. */
    readonly asks: (tx: Pick<Tx, 'get' | 'all'>, agentId: string, since: number) => boolean;
    readonly workspace: string;
    /** `GANTRY_HOME`. */
    readonly home: string;
  },
): BotWatch {
  const { registry, clock } = deps;
  const git = createGit();

  const folderOf = (member: Member) =>
    deps.places.folderOf(member.address) ?? member.spec?.cwd ?? member.definition?.cwd ?? deps.workspace;

  async function find(member: Member, quietMs: number): Promise<Found> {
    const { state, reason } = member.shown;
    const [transcriptMs, processes, changes, spooled] = await Promise.all([
      ageOf(registry.bot(member.id)?.transcripts?.() ?? []),
      processesOf(member),
      changesOf(member),
      spooledOf(member.id),
    ]);
    return { quietMs, state, reason, transcriptMs, processes, changed: changes?.length ?? null, spooled };
  }

  async function ageOf(files: readonly string[]): Promise<number | null> {
    const times = await Promise.all(
      files.map((file) =>
        stat(file).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      ),
    );
    const newest = Math.max(0, ...times);
    return newest === 0 ? null : Math.max(0, clock.now() - newest);
  }

  async function processesOf(member: Member): Promise<Found['processes']> {
    const pane = paneOf(member);
    const pid = pane === null || !member.placement.inPaneHere ? undefined : deps.panes.get(pane.id)?.pid;
    if (pid === undefined) return null;
    try {
      const tree = [...(await treeOf(pid))];
      const before = new Map(tree.map((one) => [one, readStat(one)?.ticks]));
      await new Promise<void>((resolve) => deps.timers.after(apartMs, resolve));
      const busy = tree.flatMap((one) => {
        const now = readStat(one);
        return now !== null && now.ticks > (before.get(one) ?? now.ticks) ? [now.name] : [];
      });
      return { all: tree.length, busy: [...new Set(busy)] };
    } catch {
      return null;
    }
  }

  /** The lines of `git status`; null where git cannot say. */
  async function changesOf(member: Member): Promise<readonly string[] | null> {
    const { exitCode, stdout } = await git
      .try(folderOf(member), uncommitted)
      .catch(() => ({ exitCode: 1, stdout: '' }));
    return exitCode === 0 ? stdout.split('\n').filter((line) => line !== '') : null;
  }

  async function spooledOf(agentId: string): Promise<number> {
    const names = await readdir(join(deps.home, 'run', 'bots', agentId, 'spool')).catch(() => []);
    return names.filter(isReportName).length;
  }

  return {
    of(address) {
      const member = registry.find(address);
      if (member === null || member.remote !== null || member.placement.takesTickets) return null;
      const bot = registry.bot(member.id);
      const isUnreadable = member.placement.inPaneHere && !deps.panes.engine().running;
      const { state } = member.shown;
      return {
        bot: bot ?? nobody,
        activity: bot?.activity?.now() ?? noActivity,
        excused: isUnreadable || excused.includes(state),
        atRest: atRest.includes(state),
      };
    },
    begin(address) {
      const id = registry.find(address)?.id;
      if (id !== undefined) registry.bot(id)?.activity?.forget();
    },
    async look(address, quietMs) {
      const member = registry.find(address);
      if (member === null) return { seen: `Nothing for ${minutesOf(quietMs)}: it is no longer there.`, active: false };
      const since = clock.now() - quietMs;
      const asks = await deps.store.read((tx) => deps.asks(tx, member.id, since));
      const found = await find(member, quietMs);
      const wrote = found.transcriptMs !== null && found.transcriptMs < quietMs;
      return { seen: sentenceOf(found), active: asks || wrote };
    },
    tokensSince: async (address, at) => {
      const id = registry.find(address)?.id ?? address;
      return deps.store.read((tx) => freshTokens(tx, id, at));
    },
    async filesOf(address) {
      const member = registry.find(address);
      if (member === null) return null;
      const lines = await changesOf(member);
      // The paths of its lines begin at the repository's top.
      const found = await git.try(folderOf(member), ['rev-parse', '--show-toplevel', 'HEAD']).catch(() => null);
      const top = found?.stdout.split('\n')[0] ?? '';
      if (lines === null || found === null || top === '') return null;
      const times = await Promise.all(lines.slice(0, maxFiles).map((line) => timeOf(top, line)));
      return createHash('sha256')
        .update(JSON.stringify([found.stdout, lines, times]))
        .digest('hex');
    },
    show(address, seen) {
      const id = registry.find(address)?.id;
      if (id === undefined || (seen ?? undefined) === deps.silences.get(id)) return;
      if (seen === null) deps.silences.delete(id);
      else deps.silences.set(id, seen);
      registry.held(id);
    },
  };
}

/** When the file of a line of `git status` changed: the line itself stays as it is after the first change. */
async function timeOf(top: string, line: string): Promise<number> {
  return lstat(join(top, line.slice(3))).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

export function sentenceOf({ quietMs, state, reason, transcriptMs, processes, changed, spooled }: Found): string {
  const where = atRest.includes(state)
    ? 'it is at its prompt and has not reported'
    : state === 'working' || state === 'checking'
      ? 'it is in a turn'
      : `it is ${state}${reason === null ? '' : ` (${reason.slice(0, 100)})`}`;
  const parts = [
    transcriptMs === null ? '' : `its transcript was last written ${minutesOf(transcriptMs)} ago`,
    processes === null ? '' : busyWords(processes),
    changed === null ? '' : `${countOf(changed, 'changed file')} without a commit`,
    spooled === 0 ? '' : `${countOf(spooled, 'report')} in its spool`,
  ].filter((part) => part !== '');
  return `Nothing for ${minutesOf(quietMs)}: ${[where, ...parts].join('; ')}.`.slice(0, 500);
}

function busyWords({ all, busy }: NonNullable<Found['processes']>): string {
  if (busy.length === 0) return `${countOf(all, 'process', 'processes')}, none at work`;
  const names = busy.slice(0, 3).map((name) => name.slice(0, 40));
  return `${countOf(all, 'process', 'processes')}, at work: ${names.join(', ')}`;
}

function countOf(n: number, one: string, many = `${one}s`): string {
  return `${n === 0 ? 'no' : n} ${n === 1 ? one : many}`;
}
