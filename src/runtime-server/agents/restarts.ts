/**
 * Starts bots again whose pane host is gone: in the same pane, below the old text, and in the same conversation where the harness can. A person's
 * setting switches it off. Must not know rows, teams or HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { hostEnded } from '../../programs/pane-host/protocol.ts';
import type { BotSpec, Harnesses } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import { realOf } from '../tool-server/what-runs-finder.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { AccountStarts } from './accounts/accounts.ts';
import type { BotHomes, BotTokens } from './bot-homes.ts';
import type { BotSandboxes } from './bot-sandboxes.ts';
import { labelsFor, labelsOf } from './pane-labels.ts';

interface Restarted {
  readonly pane: PaneInfo;
  /** As it runs now: its sandbox may have become stricter. */
  readonly spec: BotSpec;
  /** It continues its conversation; otherwise it began a new one. */
  readonly resumed: boolean;
}

export interface Restarts {
  /** Whether a program that ended like this is started again. */
  wanted(info: PaneInfo): boolean;
  /** Rejects with why it could not be started, or when it is not wanted any more. */
  restart(bot: {
    readonly spec: BotSpec;
    readonly info: PaneInfo;
    readonly stillWanted: () => boolean;
    /** In place of how its program ended: the line above its new screen begins with it. */
    readonly because?: string;
  }): Promise<Restarted>;
  /** Everything that a bot's program calls is up. Before, nothing is started. */
  begin(): void;
  close(): void;
}

/** A host that dies again while a bot is being started ends the bot too; this many tries. */
const tries = 5;
/** Judged by how the host ended: its own crash, or a host that was told to end while bots ran (the computer shuts down). */
const hostGone = (reason: string | null): boolean =>
  reason === hostEnded || reason?.startsWith('the pane host was ended by ') === true;

export function createRestarts(deps: {
  readonly panes: Pick<PaneEngine, 'engine' | 'givenUp' | 'listen' | 'revive' | 'kill'>;
  readonly harnesses: Pick<Harnesses, 'prepare'>;
  readonly homes: BotHomes;
  readonly tokens: BotTokens;
  readonly secrets: BotSecrets;
  readonly sandboxes: Pick<BotSandboxes, 'check' | 'confine' | 'tightened'>;
  readonly accounts: Pick<AccountStarts, 'check'>;
  readonly clock: Clock;
  readonly workspace: string;
  /** `panes.restartBots` of settings.json. */
  readonly enabled: boolean;
}): Restarts {
  const { panes } = deps;
  const begun = Promise.withResolvers<void>();
  let closed = false;
  const wakes = new Set<() => void>();
  const wake = () => {
    for (const each of [...wakes]) each();
  };
  const unlisten = panes.listen({ onEngine: wake });

  /** Resolves when panes can be started, or the restart is no longer wanted. */
  const readable = async () => {
    while (!closed && !panes.engine().running) {
      const never = panes.givenUp();
      if (never !== null) throw new AppError('refused', never, 'Read its log, then start Gantry again.');
      await new Promise<void>((resolve) => {
        const look = () => {
          wakes.delete(look);
          resolve();
        };
        wakes.add(look);
      });
    }
  };

  const once = async (given: BotSpec, info: PaneInfo, words: (resumed: boolean) => string): Promise<Restarted> => {
    const spec = deps.sandboxes.tightened(given);
    const folder = folderOf(spec, info);
    deps.sandboxes.check(spec);
    deps.accounts.check(spec);
    const paths = await deps.homes.open(spec.agentId);
    const launch = await deps.harnesses.prepare({ ...spec, resume: true }, paths);
    const secrets = await deps.secrets.given(spec);
    await deps.homes.writeToken(spec.agentId, await deps.tokens.mint(spec.agentId));
    const whole = { ...launch, env: { ...launch.env, ...secrets, GANTRY_PANE: info.id } };
    const placed = await deps.sandboxes.confine(spec, whole, paths);
    const { command, cwd, env, cols, rows } = placed;
    const resumed = launch.resumed === true;
    const labels = labelsFor(spec, deps.workspace, folder, placed);
    const pane = await panes
      .revive({ id: info.id, command, cwd, env, cols, rows, labels }, { words: words(resumed) })
      .catch(async (error: unknown) => {
        await placed.closeNetwork?.();
        throw error;
      });
    return { pane, resumed, spec };
  };

  return {
    wanted: (info) => deps.enabled && !closed && !info.alive && hostGone(info.endReason) && panes.givenUp() === null,
    async restart({ spec, info, stillWanted, because }) {
      await begun.promise;
      const ended = new Date(info.endedAt ?? deps.clock.now()).toISOString().slice(11, 19);
      const words = (resumed: boolean) =>
        `${because ?? info.endReason ?? hostEnded} at ${ended} UTC; ${resumed ? 'the conversation continues' : 'restarted'}`;
      for (let attempt = 1; ; attempt++) {
        await readable();
        if (closed || !stillWanted())
          throw new AppError('refused', 'The bot was stopped in the meantime.', 'Start its team.');
        try {
          const restarted = await once(spec, info, words);
          if (stillWanted()) return restarted;
          await panes.kill(info.id);
          throw new AppError('refused', 'The bot was stopped in the meantime.', 'Start its team.');
        } catch (error) {
          const again = error instanceof AppError && error.code === 'transport' && attempt < tries;
          if (!again) throw error;
        }
      }
    },
    begin: () => begun.resolve(),
    close() {
      closed = true;
      unlisten();
      wake();
      begun.resolve();
    },
  };
}

/** The folder in which its team was started; unknown for panes of an earlier version. A sandbox shows no other that took its place since. */
function folderOf({ cwd, sandbox }: BotSpec, info: PaneInfo): string | null {
  const first = labelsOf(info.labels)?.folder ?? null;
  const now = realOf(cwd);
  if (first === null || sandbox === undefined || now === first) return first ?? now;
  const leads = now === null ? 'is gone' : `leads to ${now} now`;
  throw new AppError(
    'refused',
    `Its folder ${cwd} was ${first} when it was started and ${leads}.`,
    'Look why, then start its team again.',
  );
}
