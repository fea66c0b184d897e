/** The carrier over Telnyx's wire: the real one, or the simulator, which speaks the same. Nothing here retries. */
import type { Carrier } from '../port.ts';
import { createTelnyxCalls } from './calls.ts';
import { createTelnyxClient, type TelnyxOptions } from './client.ts';
import { createTelnyxNumbers } from './numbers.ts';
import { createTelnyxPorts } from './ports.ts';
import { createTelnyxRegistry } from './registry.ts';
import { createTelnyxTexts } from './texts.ts';

export { kindOfTextError } from './faults.ts';

export function createTelnyxCarrier(options: TelnyxOptions): Carrier {
  const client = createTelnyxClient(options);
  const { name, connectionId, receiptsUrl } = options;
  return {
    name,
    numbers: createTelnyxNumbers(client, connectionId),
    ports: createTelnyxPorts(client, connectionId),
    registry: createTelnyxRegistry(client),
    texts: createTelnyxTexts(client, receiptsUrl),
    calls: createTelnyxCalls(client, connectionId),
  };
}
