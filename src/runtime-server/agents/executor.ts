/**
 * Runs a bot without a person watching, held to a mode: a hosted bot through Gantry's own loop, an agent program through its exec mode if it has
 * one. Refuses other bots, because nothing could hold them to a mode. Must not know rules, jobs or models.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { Log } from '../base/base.ts';
import type { Execution, ExecutionEnd, Executor } from '../connectors/ports.ts';
import type { BotPaths, ExecMode, ExecResult, Harnesses } from '../harness/harness.ts';
import type { Member } from './member.ts';
import type { Registry } from './registry.ts';

export interface ExecutorDeps {
  readonly registry: Pick<Registry, 'find' | 'bot' | 'onGate' | 'onState'>;
  readonly harnesses: Pick<Harnesses, 'exec' | 'hasExec'>;
  readonly homes: { open(agentId: string): Promise<BotPaths> };
  /** Secrets of the vault that these variables name. Throws `not_found` where one is gone. */
  openSecrets(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  readonly log: Log;
  /** Why a limit holds this bot; null: none does. */
  readonly held?: (botId: string) => string | null;
}

interface BotExecutor extends Executor {
  /** Why this bot cannot be held to a mode, in a sentence; null where it can. */
  unenforceable(botId: string): string | null;
}

const execModes: Readonly<Record<HostedMode, ExecMode>> = {
  PLAN_ONLY: 'plan',
  REQUIRE_APPROVAL: 'ask',
  ACCEPT_EDITS: 'accept_edits',
};
/** As long as of a turn. */
const maxOutputLength = 20_000;

export function createExecutor(deps: ExecutorDeps): BotExecutor {
  const { registry, harnesses } = deps;
  /** Bots whose exec mode runs. */
  const running = new Set<string>();
  const listeners = new Set<() => void>();
  const freed = () => {
    for (const listener of listeners) listener();
  };

  function unenforceable(botId: string): string | null {
    const member = registry.find(botId);
    if (member === null) return 'This bot no longer exists.';
    const { placement } = member;
    if (placement.unenforceable !== null || placement.holdsMode) return placement.unenforceable;
    if ((member.live ? member.spec?.sandbox : member.definition?.sandbox) != null) {
      return 'It runs in a sandbox, and a run without its terminal would be outside of it.';
    }
    const harness = member.live ? member.spec?.harness : member.definition?.harnesses[0];
    if (harness !== undefined && harnesses.hasExec(harness)) return null;
    return `It runs in a terminal (${harness ?? 'unknown program'}), where Gantry cannot enforce permissions.`;
  }

  async function hindrance(botId: string): Promise<string | null> {
    const member = registry.find(botId);
    const never = unenforceable(botId);
    if (member === null || never !== null) return never;
    if (!member.live) return `${member.address} is not running. Start its team: gantry teams up ${member.team}`;
    const held = deps.held?.(botId) ?? null;
    if (held !== null) return `${member.address} cannot take this run now: ${held}`;
    if (!member.placement.holdsMode) return running.has(botId) ? `${member.address} is busy with another run.` : null;
    const alone = registry.bot(botId)?.alone;
    if (alone === undefined) return `${member.address} is not running.`;
    const why = await alone.hindrance();
    return why === null ? null : `${member.address} cannot take this run now: ${why}`;
  }

  async function execute(member: Member, execution: Execution): Promise<ExecutionEnd> {
    const { mode, text, timeoutMs, signal, waits } = execution;
    const alone = registry.bot(member.id)?.alone;
    if (alone !== undefined) {
      const end = await alone.run({ runId: execution.runId, mode, text, timeoutMs, signal, waits });
      return { ...end, sessionId: null };
    }
    const { spec } = member;
    if (spec === null || !harnesses.hasExec(spec.harness))
      return failed(unenforceable(member.id) ?? 'It is not running.');
    running.add(member.id);
    try {
      const paths = await deps.homes.open(member.id);
      const env = { ...spec.env, ...(await deps.openSecrets(spec.env)) };
      const done = await harnesses.exec({ ...spec, env }, paths, text, { mode: execModes[mode], timeoutMs, signal });
      return endOf(done);
    } finally {
      running.delete(member.id);
      freed();
    }
  }

  return {
    unenforceable,
    hindrance,
    onFree(listener) {
      listeners.add(listener);
      const off = [registry.onGate(listener), registry.onState(listener)];
      return () => {
        listeners.delete(listener);
        for (const one of off) one();
      };
    },
    async run(execution) {
      const member = registry.find(execution.botId);
      if (member === null) return failed('This bot no longer exists.');
      try {
        return await execute(member, execution);
      } catch (error) {
        if (execution.signal.aborted) return { ...failed('It was stopped.'), status: 'cancelled' };
        if (error instanceof AppError) return failed(`${error.fact} ${error.action}`);
        deps.log.warn(`A run of ${member.address} failed.`, { runId: execution.runId, error: String(error) });
        return failed(`The run failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
  };
}

const failed = (error: string): ExecutionEnd => ({
  status: 'failed',
  output: null,
  error,
  usage: null,
  sessionId: null,
});

function endOf({ state, text, sessionId, refused, usage, detail }: ExecResult): ExecutionEnd {
  const said = text === '' ? null : text.slice(0, maxOutputLength);
  // Done with refusals may mean that nothing was done: the reader of the result must see it.
  const output = refused === 0 ? said : `${said ?? ''}\n\n(${detail}.)`.trim();
  if (state === 'done') return { status: 'completed', output, error: null, usage, sessionId };
  return { status: state === 'stopped' ? 'cancelled' : 'failed', output, error: detail, usage, sessionId };
}
