/** Whether a bot waits for a person. Pure. */
import type { Agent } from '../../contracts/factory/agent.ts';

export const needsPerson = (agent: Agent): boolean => agent.state === 'needs_you' || agent.state === 'blocked';
