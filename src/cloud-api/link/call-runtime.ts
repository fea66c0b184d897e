/**
 * How the cloud calls a computer on its own account: over the link, signed with that device's key, so that the computer needs to
 * trust nobody between (security.md 2.1). Must not know routes.
 */
import type { Agent } from 'node:http';
import type { Clock } from '../../kit/clock/clock.ts';
import { createSignedCaller, type SignedAnswer, type SignedCall } from '../../kit/signing/signed-call.ts';
import type { Devices } from './devices.ts';
import { createLinkAgent, type Link } from './link.ts';

export interface RuntimeCalls {
  /** Throws when the computer is unknown or cannot be reached. */
  call(computerId: string, request: SignedCall): Promise<SignedAnswer>;
  close(): void;
}

export function createRuntimeCalls(deps: { link: Link; devices: Devices; clock: Clock }): RuntimeCalls {
  const agents = new Map<string, Agent>();
  const agentOf = (computerId: string): Agent => {
    const agent = agents.get(computerId) ?? createLinkAgent(deps.link, computerId);
    agents.set(computerId, agent);
    return agent;
  };
  return {
    async call(computerId, request) {
      const known = await deps.devices.find(computerId);
      if (known === null) throw new Error(`The computer ${computerId} is not known here.`);
      const target = () => ({ agent: agentOf(computerId), host: 'engine' });
      return createSignedCaller({ runtimeId: computerId, key: known.keys[0]!, clock: deps.clock, target })(request);
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
