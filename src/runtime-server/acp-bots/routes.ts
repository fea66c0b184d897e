/** Routes of conversations without a terminal, from the contract to the bots that have one. */
import { AppError } from '../../contracts/common/errors.ts';
import type { ConversationEntry } from '../../contracts/factory/conversation-routes.ts';
import { agentConversation, setAgentMode } from '../../contracts/factory/routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Registry } from '../agents/registry.ts';
import type { AcpBots } from './index.ts';

interface PageRange {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly limit?: number | undefined;
}

type Page = (
  agentId: string,
  range: PageRange,
) => Promise<{ entries: ConversationEntry[]; rev: number; more: boolean }>;

export function conversationRoutesOf(deps: {
  readonly registry: Pick<Registry, 'find'>;
  readonly acp: Pick<AcpBots, 'page' | 'find'>;
  /** Of hosted bots. */
  readonly hosted: { readonly page: Page };
}): BoundRoute[] {
  const { acp, hosted } = deps;
  const speaking = (id: string) => {
    const member = deps.registry.find(id);
    if (member === null)
      throw new AppError('not_found', `No agent has the id or address "${id}".`, 'List them with `gantry agents ls`.');
    if (member.placement.keepsConversation) return member;
    throw new AppError(
      'not_found',
      `${member.address} runs in a terminal, and its conversation is there.`,
      `Read it with \`gantry agents transcript ${member.address}\`.`,
    );
  };
  return [
    bind(agentConversation, async ({ params, query }) => {
      const member = speaking(params.id);
      const isOverAcp = member.placement.via.atOnce === 'acp';
      const page = await (isOverAcp ? acp : hosted).page(member.id, query);
      return { body: { ...page, modes: isOverAcp ? (acp.find(member.id)?.modes() ?? null) : null } };
    }),
    bind(setAgentMode, async ({ params, body }) => {
      const member = speaking(params.id);
      const bot = member.placement.via.atOnce === 'acp' ? acp.find(member.id) : null;
      if (bot === null)
        throw new AppError('not_found', `${member.address} has no modes.`, 'Only running ACP agents have them.');
      return { body: await bot.setMode(body.mode) };
    }),
  ];
}
