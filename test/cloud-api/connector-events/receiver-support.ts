/** The receiver over a store of either engine, with computers that dial in over real links and check who brings them events. */
import { connectorEventMigrations, createConnectorEvents } from '../../../src/cloud-api/connector-events/index.ts';
import { createRuntimeCalls } from '../../../src/cloud-api/link/call-runtime.ts';
import type { Devices } from '../../../src/cloud-api/link/devices.ts';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { deliverEvent, type EventDelivery } from '../../../src/contracts/connectors/relay.ts';
import { createDispatcher } from '../../../src/kit/http/dispatcher.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { createDeviceAuthenticator, signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { createSignedCaller, type SignedCall } from '../../../src/kit/signing/signed-call.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import { movableClock } from '../../host/support.ts';
import { countingIds, onEnd, serve } from '../../kit/http/support.ts';
import type { Place } from '../../support/engines.ts';
import { quiet, startTestCloud, startTestComputer, type TestCloud } from '../../support/link.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { senderTo } from './support.ts';

const migrations = [...laneMigrations, ...signingMigrations, ...connectorEventMigrations];
export const computerId = 'computer_1';
const person = 'user_1';

/** What a computer makes of one event; thrown: that is what it answers. */
export type Answer = (delivery: EventDelivery) => unknown;

export interface Floor {
  readonly clock: ReturnType<typeof movableClock>;
  readonly cloud: TestCloud;
  /** A replica of the cloud. */
  open(): Promise<Awaited<ReturnType<typeof openReplica>>>;
  /** Links the computer; what it is brought goes to `delivered`. */
  link(answer?: Answer): Promise<{
    away(): Promise<void>;
    /** Its wire, once: it dials again. */
    cut(): void;
  }>;
  readonly delivered: EventDelivery[];
  /** Events and messages in the order in which the computer took them. */
  taken(): string[];
}

export async function openFloor(place: Place): Promise<Floor> {
  const clock = movableClock();
  const cloud = await startTestCloud();
  onEnd(() => cloud.close());
  const delivered: EventDelivery[] = [];
  // Known before the computer first dials.
  cloud.keys.set(computerId, 'ab'.repeat(32));
  const seen = await openStore({ file: `${scratchFolder()}/engine.db`, migrations: signingMigrations, clock });
  onEnd(() => seen.close());
  return {
    clock,
    cloud,
    delivered,
    taken: () => delivered.map((one) => ('event' in one ? one.event.eventId : one.type)),
    open: () => openReplica(place, cloud, clock),
    async link(answer = () => {}) {
      const listener = bind(deliverEvent, async ({ body }) => {
        await answer(body);
        delivered.push(body);
        return {
          body: {
            status: 'triggered' as const,
            ticketId: 'ticket_1',
            eventId: 'event' in body ? body.event.eventId : '',
          },
        };
      });
      const dispatcher = createDispatcher({
        listener: { kind: 'socket' },
        authenticators: [
          createDeviceAuthenticator({
            store: shareStore(seen),
            clock,
            find: (id) => ({ userId: person, keys: [cloud.keys.get(id)!] }),
          }),
        ],
        routes: [listener],
        owners: {},
        ids: countingIds(),
        log: { warn() {}, error() {} },
        answers: 'throw',
      });
      const computer = await startTestComputer(cloud, {
        id: computerId,
        random: () => 0.1,
        engine: (request, response) => void dispatcher.handle(request, response),
      });
      let gone = false;
      const away = async () => {
        if (gone) return;
        gone = true;
        await computer.close();
      };
      onEnd(away);
      await computer.linked();
      return { away, cut: () => computer.wire.cutAll() };
    },
  };
}

async function openReplica(place: Place, cloud: TestCloud, clock: ReturnType<typeof movableClock>) {
  const store = await place.open(migrations, clock);
  const find = async (id: string) => (cloud.keys.has(id) ? { userId: person, keys: [cloud.keys.get(id)!] } : null);
  const runtimes = createRuntimeCalls({ link: cloud.dialIns, devices: { find } as Devices, clock });
  const warnings: string[] = [];
  const logged: unknown[] = [];
  const events = createConnectorEvents({
    store,
    clock,
    link: cloud.dialIns,
    sealer: createSealer({ masterKey: 'k'.repeat(43), purpose: 'connector events' }),
    origin: 'https://gantry.example',
    engines: { targetOf: () => Promise.reject(new Error('unused')), ask: () => Promise.reject(new Error('unused')) },
    advice: '',
    ownerOf: async (id) => (await find(id))?.userId ?? null,
    call: runtimes.call,
    openLanes: (how) =>
      createSharedLanes({ store, clock, name: 'connector-events', random: () => 0.5, ...how, backoffMs: [20] }),
    log: {
      warn(message, facts) {
        warnings.push(message);
        logged.push(facts);
      },
    },
  });
  await events.start();
  const stop = cloud.dialIns.onChange((id, linked) => {
    if (linked) events.wake(id);
  });
  const web = await serve({
    routes: events.routes,
    authenticators: [createDeviceAuthenticator({ store, clock, find })],
    log: quiet as never,
  });
  onEnd(async () => {
    stop();
    await events.close();
    runtimes.close();
  });
  const device = (id: string) =>
    createSignedCaller({
      runtimeId: id,
      key: cloud.keys.get(id)!,
      clock,
      target: () => ({ host: '127.0.0.1', port: web.port }),
    });
  const ask = (request: SignedCall, id?: string) => {
    // Within one second, the same words have the same signature, which is taken once.
    clock.move(1000);
    return device(id ?? computerId)(request);
  };
  const sender = senderTo(web.call, ask, clock);
  return { store, events, web, warnings, logged, ...sender };
}

/** What a computer answers in an area of plain errors. */
export function refusal(status: number, wireCode: string, message = 'no'): AppError {
  if (status === 400) return new AppError('usage', message, '', { wireCode });
  if (status === 410) return new AppError('refused', message, '', { status: 410, wireCode });
  if (status === 429) return new AppError('refused', message, '', { status: 429, wireCode });
  if (status === 502) return new AppError('transport', message, '', { wireCode });
  return new AppError('internal', message, '');
}
