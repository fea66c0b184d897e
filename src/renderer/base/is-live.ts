/** Which bots run, where, and which can be started. Pure. */
import { type Agent, runsInPane } from '../../contracts/factory/agent.ts';

type Bot = Pick<Agent, 'binding' | 'pane' | 'state'>;

/** A hosted bot runs in Gantry's own loop, an ACP agent is spoken with over a protocol: what there is to see of them is a conversation. */
export const hasConversation = ({ binding: { type, harness } }: Pick<Agent, 'binding'>): boolean =>
  type === 'hosted' || (type === 'terminal' && harness !== undefined && !runsInPane(harness));

export const isLive = (agent: Bot): boolean =>
  agent.pane !== null || (hasConversation(agent) && agent.state !== 'offline');

/** The app of a vendor runs elsewhere: nobody starts or stops it from here. */
export const isStartable = (agent: Pick<Agent, 'binding'>): boolean => agent.binding.type !== 'vendor';
