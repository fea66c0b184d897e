/** Revokes a bot's token with its pane, and retries what waits for the bot at once. Must not know how either is kept. */
import type { Log } from '../base/base.ts';
import type { BotTokens } from './bot-homes.ts';
import type { Registry } from './registry.ts';

/** Follows the agents of a registry. Returns the function that stops it. */
export function createTokenEnds({
  tokens,
  wake,
  log,
}: {
  readonly tokens: Pick<BotTokens, 'revoke'>;
  /** Retries what waits for the agent. */
  readonly wake: (agentId: string) => void;
  readonly log: Log;
}): (registry: Pick<Registry, 'onState'>) => () => void {
  return (registry) => {
    const live = new Set<string>();
    return registry.onState(({ agentId, pane }) => {
      if (pane !== null) live.add(agentId);
      else if (live.delete(agentId)) {
        wake(agentId);
        Promise.resolve(tokens.revoke(agentId)).catch((error: unknown) => {
          log.warn('The token of a stopped bot could not be revoked.', { agentId, error: String(error) });
        });
      }
    });
  };
}
