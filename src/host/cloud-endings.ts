/**
 * What follows across areas when a sign-in, a person's access or a computer's pairing ends: open requests are cut, and what was kept for them is removed.
 * Also wakes what waits for a computer when it is linked.
 */
import { isHosted } from '../cloud-api/hosted-computers/index.ts';
import type { Ended } from '../cloud-api/identity/index.ts';
import type { Dispatcher } from '../kit/http/dispatcher.ts';
import type { Principal } from '../kit/http/types.ts';
import type { Closing } from './closing.ts';
import type { CloudAreas, CloudParts } from './cloud-areas.ts';

export function followEndings(
  { identity, composed, linked, log }: Pick<CloudParts, 'identity' | 'composed' | 'linked' | 'log'>,
  areas: CloudAreas,
  dispatcher: Pick<Dispatcher, 'cut'>,
  closing: Closing,
): void {
  const { notifications, approvals, triggers, connectorEvents, phone } = areas;
  const { area: computers, linkEnd } = composed;
  const stopEnding = identity.onEnded((ended) => {
    dispatcher.cut((principal) => isOf(principal, ended));
    if ('sessionId' in ended) {
      notifications
        .signInEnded(ended.sessionId, ended.replacedBy)
        .catch((fault) =>
          log.error('The push subscriptions of an ended session could not be removed.', { fault: String(fault) }),
        );
    }
    if (!('userId' in ended)) return;
    computers.computers
      .list(ended.userId)
      .then((list) => {
        for (const { id } of list) linkEnd.end?.(id, 'its person is disabled');
      })
      .catch((fault) => log.error('The links of a person could not be ended.', { fault: String(fault) }));
  });
  closing.add('sign-ins', stopEnding);
  const stopCutting = composed.onEnded((id) => {
    dispatcher.cut(({ computerId }) => computerId === id);
    connectorEvents
      .pairingEnded(id)
      .catch((fault) =>
        log.error('The connector subscriptions of a removed computer could not be ended.', { fault: String(fault) }),
      );
    phone
      .pairingEnded(id)
      .catch((fault) =>
        log.error('The phone assignments of a removed computer could not be ended.', { fault: String(fault) }),
      );
  });
  closing.add('pairings that end', stopCutting);
  // Before any computer can dial in: what is held until then would not be woken.
  const stopWaking = linkEnd.link.onChange((computerId, isLinked) => {
    if (isHosted(computerId)) return;
    if (!isLinked) {
      linked.delete(computerId);
      return;
    }
    linked.add(computerId);
    approvals.wake(computerId);
    triggers.wake(computerId);
    connectorEvents.wake(computerId);
    phone.wake(computerId);
  });
  closing.add('waking', stopWaking);
}

function isOf(principal: Principal, ended: Ended): boolean {
  if ('userId' in ended) return principal.userId === ended.userId;
  if ('keyId' in ended) return principal.keyId === ended.keyId;
  return principal.sessionId === ended.sessionId;
}
