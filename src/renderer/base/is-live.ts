/** Which bots run and which can be started. A hosted bot runs in Gantry's own loop, without a pane. Pure. */
import type { Agent } from '../../contracts/factory/agent.ts';

type Bot = Pick<Agent, 'binding' | 'pane' | 'state'>;

export const isLive = (agent: Bot): boolean =>
  agent.pane !== null || (agent.binding.type === 'hosted' && agent.state !== 'offline');

/** The app of a vendor runs elsewhere: nobody starts or stops it from here. */
export const isStartable = (agent: Pick<Agent, 'binding'>): boolean => agent.binding.type !== 'vendor';
