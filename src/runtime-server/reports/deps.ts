/** What taking reports needs from outside. Composed by the factory. */
import type { LocalCall } from '../../kit/http/local-call.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Base } from '../base/base.ts';
import type { Spools } from './spool.ts';

export interface TakerDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'log'> {
  readonly spools: Spools;
  readonly tokens: {
    spoolKeys(agentId: string): Promise<readonly string[]>;
    principalOf(agentId: string): Principal;
  };
  readonly call: LocalCall;
  readonly approvals: Pick<Approvals, 'ask'>;
  /** Who outside reads what is said in this thread, by name; null: nobody. */
  readerOf(threadId: string): Promise<string | null>;
  /** Ids of the bots of all teams. */
  bots(): readonly string[];
  /** A message of the engine to a bot; nothing if there is no such bot. */
  tellBot(agentId: string, text: string, idempotencyKey: string): Promise<void>;
  /** Notes at a step that a report about it was refused. */
  note(step: { readonly dagId: string; readonly nodeId: string }, text: string): Promise<void>;
}
