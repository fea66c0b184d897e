/**
 * The addresses to which the carrier posts: one for each number, and one for everything that belongs to no number. Delivers signed events to the
 * parts that read them; must not know what they mean.
 */

import type { ServerResponse } from 'node:http';
import { AppError } from '../../../contracts/common/errors.ts';
import { carrierWebhook, relayAddress } from '../../../contracts/phone/texts.ts';
import { headOf } from '../../../kit/http/base-headers.ts';
import { bindWithHead } from '../../../kit/http/types.ts';
import { readPublicKey } from '../carrier/telnyx/signature.ts';
import type { PartDeps, PhonePart } from '../part.ts';
import type { CarrierEventReader, Numbers } from '../ports.ts';
import { createDelivery } from './delivery.ts';
import { createReceiver, type Taken } from './receiver.ts';

export { phoneWebhookMigrations } from './migrations.ts';

export function createWebhooks(
  deps: Pick<PartDeps, 'store' | 'clock' | 'log' | 'publicKey' | 'openLanes'> & {
    readonly carrier: Pick<PartDeps['carrier'], 'name'>;
    readonly numbers: Pick<Numbers, 'byAddress'>;
    /** The first matching prefix takes an event. */
    readonly readers: readonly CarrierEventReader[];
  },
): PhonePart {
  const { log, carrier, numbers, publicKey } = deps;
  const delivery = createDelivery(deps);
  const receive = createReceiver({ ...deps, delivery });

  return {
    routes: [
      bindWithHead(relayAddress, async ({ params, query, request, response, requestId }) => {
        const number = await numbers.byAddress(params.address);
        // The same response for an unknown and a revoked address.
        if (number === null) throw gone();
        answer(response, requestId, await receive(request, number, query));
      }),
      bindWithHead(carrierWebhook, async ({ params, query, request, response, requestId }) => {
        if (params.carrier !== carrier.name) throw unknownCarrier(params.carrier);
        answer(response, requestId, await receive(request, null, query));
      }),
    ],
    async start() {
      if (readPublicKey(publicKey) === null) {
        log.warn('The carrier’s public key is not base64 of 32 bytes: nothing that it posts is believed.');
      }
      await delivery.start();
    },
    close: () => delivery.close(),
    forgetOld: delivery.forgetOld,
  };
}

function answer(response: ServerResponse, requestId: string, status: Taken): void {
  const text = JSON.stringify({ status });
  response.writeHead(200, headOf(requestId, Buffer.byteLength(text), 'application/json; charset=utf-8'));
  response.end(text);
}

function gone(): AppError {
  return new AppError('refused', 'No number has this address.', 'Stop sending to it.', {
    status: 410,
    wireCode: 'address_gone',
  });
}

function unknownCarrier(name: string): AppError {
  return new AppError(
    'not_found',
    `The carrier here is not ${JSON.stringify(name)}.`,
    'Post to the carrier’s own address.',
  );
}
