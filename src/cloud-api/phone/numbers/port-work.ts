/**
 * A port at the carrier: drafted, given the fields that the other carrier needs, confirmed, and read again until both calls and texts arrive here.
 * Secrets are stored sealed until the carrier has them. Must not know plans or HTTP.
 */
import type { Port, PortDetails } from '../../../contracts/phone/number.ts';
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import { CarrierFault, type CarrierPortOrder } from '../carrier/port.ts';
import { orNull, surely } from './faults.ts';
import { isPorted, missingOf, type NumberRow, portProblem } from './model.ts';
import type { Facts } from './store.ts';
import { type DoJob, failed, profileOf, type Work, type WorkDeps } from './work.ts';

/** Ports take weeks, and the carrier posts each change: this catches posts that were missed. */
const againMs = 30 * 60_000;

export function sealDetails(sealer: Sealer, id: string, details: PortDetails): string | null {
  if (Object.keys(details).length === 0) return null;
  return sealer.seal(place(id), JSON.stringify(details));
}

export function openDetails(sealer: Sealer, { id, portDetails }: NumberRow): PortDetails {
  return portDetails === null ? {} : (JSON.parse(sealer.open(place(id), portDetails)) as PortDetails);
}

const place = (id: string) => `phone_number|port_details|${id}`;

export function createPortWork(
  deps: WorkDeps & {
    readonly begin: Work['begin'];
  },
): DoJob {
  const { carrier, rows, steps, store, sealer } = deps;
  const { numbers, ports } = carrier;

  async function orderOf(row: NumberRow): Promise<string> {
    if (row.orderId !== null) return row.orderId;
    const made = await steps.run<readonly CarrierPortOrder[]>(`port ${row.id}`, {
      find: async () => {
        const found = await surely(() => ports.findByKey(row.id));
        return found.length === 0 ? null : found;
      },
      act: () => ports.create({ e164: row.e164, key: row.id }),
    });
    // The carrier may split an order; the other parts are not ours.
    const orderId = (made.find(({ e164s }) => e164s.includes(row.e164)) ?? made[0])?.orderId;
    if (orderId === undefined) throw new CarrierFault('service', 'The carrier made no order for it.');
    await store.write((tx) => rows.note(tx, row.id, { orderId }));
    return orderId;
  }

  /** Sends new fields, and submits the order once nothing is missing. */
  async function handOver(row: NumberRow, orderId: string): Promise<void> {
    const before = row.portGiven === null ? [] : (JSON.parse(row.portGiven) as string[]);
    const corrected = openDetails(sealer, row);
    const isNew = Object.keys(corrected).length > 0 && !before.includes('country');
    const details = isNew ? { country: row.country, ...corrected } : corrected;
    const names = Object.keys(details);
    let handed = row.portDetails;
    let given = row;
    if (names.length > 0 && row.address !== null) {
      const webhookUrl = deps.addresses.url(row.id, row.address);
      await ports.update(orderId, { details, profileId: await profileOf(deps, row), webhookUrl });
      given = { ...row, portGiven: JSON.stringify([...new Set([...before, ...names])].sort()) };
      handed = sealer.seal(place(row.id), '{}');
      await noteHanded(row, { portGiven: given.portGiven, problem: null }, handed);
    }
    if (missingOf(given).length === 0) await ports.confirm(orderId);
    // The state read before is outdated.
    await noteHanded({ ...row, portDetails: handed }, { lookedAt: null }, null);
  }

  /** Keeps details that were corrected in the meantime: they are sent next. */
  async function noteHanded(row: NumberRow, facts: Facts, left: string | null): Promise<void> {
    await store.write(function* (tx) {
      const now = yield* rows.read(tx, row.id);
      yield* rows.note(tx, row.id, {
        ...facts,
        ...(now?.portDetails === row.portDetails ? { portDetails: left } : {}),
      });
    });
  }

  /** By the number's current id: a split may have moved it to another order. */
  async function readAgain(row: NumberRow, orderId: string): Promise<CarrierPortOrder> {
    const order = await orNull(() => ports.read(orderId));
    if (order?.e164s.includes(row.e164)) return order;
    const others = await ports.findByKey(row.id);
    const found = others.find(({ e164s }) => e164s.includes(row.e164)) ?? order;
    if (found === null) throw new CarrierFault('service', `The carrier no longer knows the order ${orderId}.`);
    return found;
  }

  async function facts(row: NumberRow, order: CarrierPortOrder) {
    const readyOn = order.readyOn === null ? null : Date.parse(order.readyOn);
    const here = order.state === 'ported';
    const found = here && row.carrierNumberId === null ? await numbers.find(row.e164) : null;
    if (found !== null && row.profileId !== null) await numbers.assignProfile(found.id, row.profileId);
    return {
      orderId: order.orderId,
      lookedAt: deps.clock.now(),
      portState: order.state,
      portMessaging: order.messaging,
      portProblems: JSON.stringify(order.problems.map(portProblem) satisfies Port['problems']),
      portReadyOn: readyOn === null || Number.isNaN(readyOn) ? null : readyOn,
      ...(found === null ? {} : { carrierNumberId: found.id, voiceState: 'active' as const }),
    };
  }

  return async (row) => {
    if (row.phase !== 'porting' && row.phase !== 'held') return { to: 'done' };
    const orderId = await orderOf(row);
    const asked = (await rows.get(row.id)) ?? row;
    try {
      if (asked.portDetails !== null) await handOver(asked, orderId);
    } catch (fault) {
      if (!(fault instanceof CarrierFault) || fault.kind !== 'details') throw fault;
      // Its person must correct it; the carrier did not store what it refused.
      const problem = `The carrier did not accept what you gave: ${fault.message}`;
      await store.write((tx) => rows.note(tx, row.id, { problem, portDetails: null }));
    }
    const current = (await rows.get(row.id)) ?? asked;
    const order = await readAgain(current, orderId);
    if (order.state === 'cancelled') {
      const problem = 'The port was cancelled: the number stays with its current carrier.';
      const portState = { portState: order.state };
      return failed(deps, row.id, { fault: 'cancelled', problem, facts: portState });
    }
    const found = await facts(current, order);
    const has = found.voiceState === 'active' || current.voiceState === 'active';
    await store.write(function* (tx) {
      const before = yield* rows.read(tx, row.id);
      if (before === null) return;
      yield* has && before.phase === 'porting' ? rows.move(tx, row.id, 'ported', found) : rows.note(tx, row.id, found);
      const changed = before.portState !== found.portState || before.portMessaging !== found.portMessaging;
      if (changed) yield* deps.resync.tell(tx, before.runtimeId);
    });
    const after = await rows.get(row.id);
    if (after !== null && after.portDetails !== null) return { to: 'retry', reason: 'more was given', at: 0 };
    if (after === null || isPorted(after)) return { to: 'done' };
    return { to: 'retry', reason: `the port is ${order.state}`, at: deps.clock.now() + againMs };
  };
}
