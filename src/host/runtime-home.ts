/**
 * Composes what goes home: the link with the cloud that is home, the questions that wait for their person, events and texts. What waits is sent again where
 * another cloud becomes home.
 */
import { localUserId } from '../kit/http/principals.ts';
import type { LanesOptions } from '../kit/lane/create-lanes.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { createHeldApprovals, liveApprovals } from '../runtime-server/approvals/index.ts';
import { createOutbox } from '../runtime-server/events/outbox.ts';
import { ensureDeviceToken } from '../runtime-server/link/device.ts';
import { createPhone } from '../runtime-server/phone/index.ts';
import type { DataFolder } from './data-folder.ts';
import { createHomeLink } from './home-link.ts';
import type { RuntimeCore } from './runtime-core.ts';

/** A person waits for what goes to the cloud; the embedded one is back within a second. */
const backoffMs = [500, 1000, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/** Somebody waits for an answer. */
const textBackoffMs = [500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

export async function createRuntimeHome({
  folder,
  embedded,
  botName,
  ...core
}: RuntimeCore & {
  readonly folder: DataFolder;
  /** Address of the cloud in the same process; null without one. */
  readonly embedded: () => { readonly host: string; readonly port: number } | null;
  readonly botName: (agentId: string) => string | null;
}) {
  const { store, clock, log, closing } = core;
  const lanesHome = (name: string, send: LanesOptions['send']) =>
    core.openLanes({ name, send, backoffMs, failed: 'Queued data could not be sent to the cloud.' });
  const deviceToken = await ensureDeviceToken({
    store,
    sealer: createSealer({ masterKey: folder.masterKey, purpose: 'device' }),
    clock,
    computerId: folder.computer.id,
    log,
  });
  const homeLink = createHomeLink({
    ...core,
    folder,
    deviceToken,
    embedded,
    waiting: () => liveApprovals(store, clock),
  });
  const held = createHeldApprovals({
    ...core,
    ownerId: localUserId,
    cloudAheadMs: () => homeLink.home.aheadMs() ?? 0,
    knows: () => homeLink.pairing.knows(),
    openLanes: (send) => lanesHome('cloud', send),
    call: (request) => homeLink.home.call(request),
    botName,
  });
  closing.add('approvals', () => held.approvals.close());
  const outbox = createOutbox({
    clock,
    log,
    openLanes: (send) => lanesHome('events', send),
    call: (request) => homeLink.home.call(request),
    home: () => homeLink.pairedWith(),
  });
  closing.add('events', () => outbox.close());
  const phone = createPhone({
    ...core,
    openLanes: (worker) =>
      core.openLanes({ ...worker, name: 'texts', backoffMs: textBackoffMs, failed: 'A text could not be forwarded.' }),
    call: (request) => homeLink.home.call(request),
  });
  const wake = () => {
    outbox.wake();
    held.wake();
    phone.wake();
  };
  // What is asked now is answered in the home cloud of now; the one before may never be reached again.
  homeLink.onHome(() => {
    wake();
    held.approvals.reportAgain().catch((fault) => log.error('Waiting approvals could not be sent home.', { fault }));
  });
  homeLink.onLinked(wake);
  closing.add('pairing', () => homeLink.close());
  closing.add('texts', () => phone.close());
  return { homeLink, held, outbox, phone, deviceToken };
}
