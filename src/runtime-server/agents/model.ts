/** Types and pure rules of agents: their rows, and the state of one without a live bot. Must not know SQL, HTTP or panes. */
import type { AgentState } from '../../contracts/factory/agent.ts';
import type { BotSpec } from '../harness/harness.ts';

/** How an agent looks. */
export interface Shown {
  readonly state: AgentState;
  readonly reason: string | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** A row of `factory_agent` with its panes, oldest first. */
export interface AgentRecord {
  readonly id: string;
  readonly workspace: string;
  readonly team: string;
  readonly slug: string;
  readonly createdAt: number;
  /** As it was last started; null when it never was. */
  readonly spec: BotSpec | null;
  readonly shown: Shown;
  readonly panes: readonly PaneRecord[];
}

export interface PaneRecord {
  readonly id: string;
  readonly agentId: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

/**
 * The state of an agent whose program has ended. An exit code or a signal that means an error is `failed`; every other end is `offline`. `over`: a limit
 * that it went over just before, which may have ended it.
 */
export function shownAfterExit(
  exit: { code: number | null; signal: string | null; reason: string | null },
  since: number,
  over: string | null = null,
): Shown {
  const why = over === null ? '' : `: ${over}`;
  if (exit.reason !== null) return { state: 'offline', reason: exit.reason, since };
  if (exit.code === 0) return { state: 'offline', reason: 'the program ended', since };
  if (exit.code !== null)
    return { state: 'failed', reason: `the program ended with exit code ${exit.code}${why}`, since };
  if (exit.signal !== null) return { state: 'failed', reason: `the program was ended by ${exit.signal}${why}`, since };
  return { state: 'offline', reason: 'the program ended; its exit code is unknown', since };
}

export const addressOf = (slug: string, team: string): string => `${slug}@${team}`;
