/**
 * The ledger's row of a call: what was done and who allowed it, without its text, since the ledger cannot forget. The same for every caller. Must
 * not know who called.
 */
import type { ToolOutcome } from './registry.ts';

/** Null: nothing that acted, or a call that was never understood. */
export function toolCalled(
  tool: string,
  outcome: ToolOutcome,
): { readonly type: 'tool.called'; readonly body: Readonly<Record<string, unknown>> } | null {
  if (outcome.actionHash === null) return null;
  return {
    type: 'tool.called',
    body: {
      v: 1,
      tool,
      actionHash: outcome.actionHash(),
      verdict: outcome.verdict?.verdict ?? null,
      rule: outcome.verdict?.rule ?? null,
      approvalId: outcome.approvalId,
      acted: outcome.acted,
      isError: outcome.isError,
    },
  };
}
