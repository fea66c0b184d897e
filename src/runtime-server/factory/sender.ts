/** Who sends, from who calls. */
import { AppError } from '../../contracts/common/errors.ts';
import { isOwnerInPerson, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Member } from './member.ts';
import type { Sender } from './send-route.ts';

export function senderOf(registry: { find(idOrAddress: string): Member | null }, principal: Principal): Sender {
  const bot = principal.agentId === undefined ? null : registry.find(principal.agentId);
  if (principal.agentId !== undefined && bot === null) {
    throw new AppError('refused', 'The bot that sends is in no team any more.', 'Start its team again.');
  }
  return {
    caller: principal.agentId ?? principal.userId,
    surface: surfaceOf(principal),
    name: bot?.address ?? (isOwnerInPerson(principal) ? 'owner' : `owner (${surfaceOf(principal)})`),
    agentId: bot?.id ?? null,
    inPerson: isOwnerInPerson(principal),
  };
}
