/** Calls that come over a wire: the caller, the call, and its line in the ledger. MCP and REST share it. Must not know either. */
import type { ToolInfo } from '../../contracts/tool-server/tools.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store } from '../../kit/store/store.ts';
import type { ToolCallers } from './callers.ts';
import type { ToolOutcome, ToolRegistry } from './registry.ts';
import { toolCalled } from './told.ts';
import type { ToolCaller } from './tool.ts';

export interface WireCalls {
  /** Throws `refused` for a caller without tools here. */
  admit(principal: Principal): void;
  list(): { readonly tools: readonly ToolInfo[]; readonly revision: number };
  call(name: string, input: unknown, principal: Principal, signal: AbortSignal): Promise<ToolOutcome>;
}

export function createWireCalls({
  registry,
  callers,
  ledger,
  store,
}: {
  readonly registry: ToolRegistry;
  readonly callers: ToolCallers;
  readonly ledger: Pick<Ledger, 'append'>;
  readonly store: Pick<Store, 'write'>;
}): WireCalls {
  /** Reads are not recorded: there may be thousands, and they change nothing. A call that a person was asked about always is. */
  async function tell(name: string, outcome: ToolOutcome, caller: ToolCaller): Promise<void> {
    const told = outcome.looked ? null : toolCalled(name, outcome);
    if (told === null) return;
    const subject = caller.bot === null ? `client:${caller.client}` : `agent:${caller.bot.agentId}`;
    await store.write((tx) => {
      ledger.append(tx, { ...told, actor: caller.actor, surface: caller.surface, subject });
    });
  }

  return {
    admit: (principal) => callers.admit(principal),
    list: () => ({ tools: registry.list(), revision: registry.revision }),
    async call(name, input, principal, signal) {
      const caller = await callers.of(principal, signal);
      const outcome = await registry.call(name, input, caller);
      await tell(name, outcome, caller);
      return outcome;
    },
  };
}
