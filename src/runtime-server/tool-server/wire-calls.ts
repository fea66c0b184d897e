/** Calls that come over a wire: the caller, the call, and its line in the ledger. MCP and REST share it. Must not know either. */
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { ToolInfo } from '../../contracts/tool-server/tools.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { ToolCallers } from './callers.ts';
import type { ToolOutcome, ToolRegistry } from './registry.ts';
import { toolCalled } from './told.ts';
import type { ToolCaller } from './tool.ts';

/** The ledger's line of a call, and what else is written with it. */
export type RecordCall = (
  name: string,
  outcome: ToolOutcome,
  caller: ToolCaller,
  also?: (tx: Tx) => void,
) => Promise<void>;

export interface WireCalls {
  /** Throws `refused` for a caller without tools here. */
  admit(principal: Principal): void;
  list(): { readonly tools: readonly ToolInfo[]; readonly revision: number };
  call(
    name: string,
    input: unknown,
    principal: Principal,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<ToolOutcome>;
}

/** Reads are not recorded: there may be thousands, and they change nothing. A call that a person was asked about always is. */
export function createRecordCall({
  ledger,
  store,
}: {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly store: Pick<Store, 'write'>;
}): RecordCall {
  return async (name, outcome, caller, also) => {
    const told = outcome.looked ? null : toolCalled(name, outcome);
    if (told === null && also === undefined) return;
    const subject = caller.bot === null ? `client:${caller.client}` : `agent:${caller.bot.agentId}`;
    await store.write((tx) => {
      if (told !== null) ledger.append(tx, { ...told, actor: caller.actor, surface: caller.surface, subject });
      also?.(tx);
    });
  };
}

export function createWireCalls({
  registry,
  callers,
  record,
  called,
}: {
  readonly registry: ToolRegistry;
  readonly callers: ToolCallers;
  readonly record: RecordCall;
  /** A bot calls a tool. */
  readonly called: ((agentId: string, tool: string, input: unknown) => void) | undefined;
}): WireCalls {
  return {
    admit: (principal) => callers.admit(principal),
    list: () => ({ tools: registry.list(), revision: registry.revision }),
    async call(name, input, principal, signal, onProgress) {
      const caller = { ...(await callers.of(principal, signal)), onProgress };
      if (caller.bot !== null) called?.(caller.bot.agentId, name, input);
      const outcome = await registry.call(name, input, caller);
      await record(name, outcome, caller);
      return outcome;
    },
  };
}
