/**
 * How computers reach a multi-user cloud: they dial one of its replicas, and all replicas reach them. A cloud of one process, on a file, has no other
 * replicas.
 */
import { readComputer } from '../cloud-api/link/computers-store.ts';
import { createDialIns, type Device } from '../cloud-api/link/dial-ins.ts';
import { createElsewhere } from '../cloud-api/link/elsewhere.ts';
import { createReplicaEndpoint } from '../cloud-api/link/replica-endpoint.ts';
import { createReplicaPipes } from '../cloud-api/link/replica-pipes.ts';
import { createReplicas } from '../cloud-api/link/replicas.ts';
import { createSharedLink } from '../cloud-api/link/shared-link.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers as timers } from '../kit/clock/timers.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { signatureHeaders } from '../kit/signing/signature.ts';
import type { LinkEnd, LinkParts } from './cloud-options.ts';

export async function openDialIns(
  parts: LinkParts,
  options: {
    /** Where the other replicas reach this one. */
    readonly address: string;
    readonly internalToken: string;
    readonly masterKey: string;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly log: Log;
  },
): Promise<LinkEnd> {
  const { store, storeClock, authenticator } = parts;
  const { clock, log, internalToken } = options;
  const shared = store.engine === 'postgres';

  async function authenticate(request: Parameters<typeof authenticator.authenticate>[0]): Promise<Device | null> {
    // Before its signature is looked at: it then stands for this pairing, or for an older one.
    const claimed = String(request.headers[signatureHeaders.id] ?? '');
    const row = shared ? await store.read((tx) => readComputer(tx, claimed)) : null;
    const principal = await authenticator.authenticate(request);
    if (principal?.computerId === undefined) return null;
    const { computerId, userId } = principal;
    return { computerId, userId, ...(row === null ? {} : { pairing: row.pairedAt }) };
  }

  const id = options.ids.next('replica');
  const sealer = createSealer({ masterKey: options.masterKey, purpose: 'link' });
  const onFault = (what: string, fault: unknown) => log.warn(what, { fault: String(fault) });
  const elsewhere = createElsewhere({ store, clock: storeClock, id, sealer, onFault });
  const dialIns = createDialIns({
    authenticate,
    ...(shared ? { newestElsewhere: elsewhere.newest } : {}),
    clock,
    timers,
    log,
  });
  const here = {
    link: dialIns,
    upgrade: dialIns.handleUpgrade,
    end: dialIns.end,
    close: () => dialIns.close(),
  };
  if (!shared) return here;

  const replicas = createReplicas({
    store,
    clock: storeClock,
    timers,
    id,
    address: options.address,
    sealer,
    elsewhere,
    dialIns,
    onFault,
  });
  const pipes = createReplicaPipes({ internalToken, clock: storeClock, timers });
  const link = createSharedLink({ dialIns, elsewhere, replicas, pipes, clock: storeClock, timers });
  await replicas.start();
  return {
    ...here,
    link,
    between: createReplicaEndpoint({ id: replicas.id, internalToken, clock: storeClock, here: dialIns }),
    async close() {
      await dialIns.close();
      link.close();
      await replicas.close();
    },
  };
}
