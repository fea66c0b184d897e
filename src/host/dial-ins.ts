/**
 * How computers reach a multi-user cloud: they dial one of its replicas, and all replicas reach them. A cloud of one process, on a file, has no other
 * replicas.
 */
import { isHosted } from '../cloud-api/hosted-computers/index.ts';
import { readComputer } from '../cloud-api/link/computers-store.ts';
import { createDialIns, type Device } from '../cloud-api/link/dial-ins.ts';
import { createElsewhere } from '../cloud-api/link/elsewhere.ts';
import { createReplicaEndpoint } from '../cloud-api/link/replica-endpoint.ts';
import { createReplicaPipes } from '../cloud-api/link/replica-pipes.ts';
import { createReplicas } from '../cloud-api/link/replicas.ts';
import { createSharedLink } from '../cloud-api/link/shared-link.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers as timers } from '../kit/clock/timers.ts';
import type { Principal } from '../kit/http/types.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { signatureHeaders } from '../kit/signing/signature.ts';
import type { LinkEnd, LinkParts } from './cloud-options.ts';

/** Hosted computers of a cloud that no paired computer dials. */
export function openHostedDialIns(
  hosted: LinkParts['hosted'],
  deps: Omit<Parameters<typeof createDialIns>[0], 'authenticate' | 'timers'>,
) {
  return createDialIns({
    ...deps,
    timers,
    authenticate: async (request) => deviceOf(await hosted.authenticate(request)),
  });
}

function deviceOf(principal: Principal | null): Device | null {
  if (principal?.computerId === undefined) return null;
  const { computerId, userId } = principal;
  return { computerId, userId };
}

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
  const { store, storeClock, authenticator, hosted } = parts;
  const { clock, log, internalToken } = options;
  const shared = store.engine === 'postgres';

  async function authenticate(request: Parameters<typeof authenticator.authenticate>[0]): Promise<Device | null> {
    // Before its signature is looked at: it then stands for this pairing, or for an older one.
    const claimed = String(request.headers[signatureHeaders.id] ?? '');
    if (isHosted(claimed)) return deviceOf(await hosted.authenticate(request));
    const row = shared ? await store.read((tx) => readComputer(tx, claimed)) : null;
    const device = deviceOf(await authenticator.authenticate(request));
    return device === null ? null : { ...device, ...(row === null ? {} : { pairing: row.pairedAt }) };
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
