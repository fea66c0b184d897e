/**
 * Calls of the cloud to a computer on the cloud's own behalf: over the link, signed with that device's key, so that the computer need not trust
 * anything in between. Must not know routes.
 */
import type { Agent } from 'node:http';
import type { Clock } from '../../kit/clock/clock.ts';
import { createSignedCaller, type SignedAnswer, type SignedCall } from '../../kit/signing/signed-call.ts';
import type { Devices } from './devices.ts';
import { createLinkAgent, type Link } from './link.ts';

interface RuntimeCalls {
  /** Throws if the computer is unknown or cannot be reached. */
  call(computerId: string, request: SignedCall): Promise<SignedAnswer>;
  close(): void;
}

type Call = ReturnType<typeof createSignedCaller>;

export function createRuntimeCalls(deps: {
  link: Link;
  devices: Devices;
  clock: Clock;
  /** The `traceparent` of the span that calls. */
  trace?: (() => string | null) | undefined;
}): RuntimeCalls {
  const agents = new Map<string, Agent>();
  /** Cached, as each knows its signatures of this second and the offset of the computer's clock. */
  const callers = new Map<string, { readonly key: string; readonly call: Call }>();

  const agentOf = (computerId: string): Agent => {
    const agent = agents.get(computerId) ?? createLinkAgent(deps.link, computerId);
    agents.set(computerId, agent);
    return agent;
  };

  function callerOf(computerId: string, key: string): Call {
    const known = callers.get(computerId);
    if (known?.key === key) return known.call;
    const target = () => ({ agent: agentOf(computerId), host: 'engine' });
    const call = createSignedCaller({ runtimeId: computerId, key, clock: deps.clock, trace: deps.trace, target });
    callers.set(computerId, { key, call });
    return call;
  }

  return {
    async call(computerId, request) {
      const known = await deps.devices.find(computerId);
      if (known === null) throw new Error(`The computer ${computerId} is not known here.`);
      return callerOf(computerId, known.keys[0]!)(request);
    },
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
