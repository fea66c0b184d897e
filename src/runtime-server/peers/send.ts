/** A message from another computer to a bot here: a send like any other, answered in the shape of the peer routes. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import type { PeerSendResult } from '../../contracts/factory/peer-routes.ts';
import type { Member } from '../agents/member.ts';
import type { Crew } from './crew.ts';

interface GuestMessage {
  readonly text: string;
  readonly queue?: boolean | undefined;
  /** Address of a bot on the caller's computer. */
  readonly from?: string | undefined;
}

/** 504 when nothing proved that it arrived, 502 when it failed; each with the delivery's `state` beside the error. */
export async function sendToGuest(
  crew: Crew,
  member: Member,
  { text, queue, from }: GuestMessage,
  user: string,
  key: string | undefined,
): Promise<PeerSendResult> {
  const name = `${from ?? 'owner'} (another computer)`;
  const sender = { caller: `peer:${user}`, surface: 'peer', name, agentId: null, inPerson: false };
  const asked = { to: member.address, text, ...(queue === undefined ? {} : { queue }) };
  const sent = await crew.sends.send(asked, sender, key);
  if ('dryRun' in sent) throw new Error('A send of a peer was answered as a dry run.');
  return answerOf(sent, crew.views.show(member).queueDepth);
}

function answerOf(sent: Delivery, depth: number): PeerSendResult {
  const said = sent.detail === undefined ? {} : { reason: sent.detail };
  const fact = `${sent.to}: ${sent.detail ?? sent.state}.`;
  const extra = { state: sent.state };
  switch (sent.state) {
    case 'verified':
      return { to: sent.to, state: 'verified', messageId: sent.id, evidence: sent.evidence, ...said };
    case 'accepted':
    case 'queued':
      return { to: sent.to, state: 'queued', messageId: sent.id, depth, ...said };
    case 'failed':
      throw new AppError('transport', fact, 'Check the bot, then send it again.', { extra });
    default:
      throw new AppError('timeout', fact, 'Check the pane before you send it again.', { extra });
  }
}
