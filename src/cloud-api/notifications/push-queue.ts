/**
 * The queue of pushes: one lane for each device, appended in the transaction that claimed the event, so that a crash loses none and repeats none. A
 * push that may have been sent when the program ended is not sent again. Must not know why one is sent.
 */
import { visibleLine } from '../../contracts/approvals/visible.ts';
import type { PushPayload } from '../../contracts/notifications/push.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import { answered } from '../../kit/store/answered.ts';
import type { Asked, Op, SharedReader, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { Answerable } from '../approvals/index.ts';
import type { PushActions } from './actions.ts';
import { urgentEvents } from './build.ts';
import type { Device, DeviceStore } from './devices.ts';
import type { Outcomes } from './outcomes.ts';
import type { Pusher, PushResult } from './pusher.ts';

export type OpenApproval = (tx: SharedReader, approvalId: string, userId: string) => Asked<Answerable>;

export interface LaneWorker {
  send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome>;
  onExpired(tx: SharedTx, item: LaneItem): Asked<unknown>;
}

interface NewPush {
  /** Unique for the notification; the id of its event, if it has one. */
  readonly id: string;
  /** The event whose outcome this is; null for a direct push. */
  readonly eventId: string | null;
  readonly userId: string;
  readonly payload: PushPayload;
  /** Milliseconds since the epoch: how long the push service keeps it for the device. */
  readonly until: number;
  /** Milliseconds since the epoch: until when it is tried. */
  readonly deadline: number;
}

export interface PushQueue {
  /** To every device of the person; returns how many. */
  queue(tx: SharedTx, push: NewPush): Op<number>;
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Body {
  readonly deviceId: string;
  readonly eventId: string | null;
  readonly userId: string;
  readonly payload: PushPayload;
  readonly until: number;
}

/** Most pushes finish in this time; the service may have accepted the others, so they are not sent again. */
const graceMs = 1_000;
const cutOff = 'cut off while it was sent';

interface PushQueueDeps {
  readonly store: SharedStore;
  readonly openLanes: (worker: LaneWorker) => SharedLanes;
  /** Null if there are no push keys. */
  readonly pusher: Pusher | null;
  readonly devices: DeviceStore;
  readonly outcomes: Outcomes;
  readonly actions: PushActions;
  readonly admits?: ((userId: string) => boolean | Promise<boolean>) | undefined;
  readonly openApproval: OpenApproval;
  /**
   * Separates this process's lanes from another's on the same file; null if the lanes themselves know which process sends, so that the pushes of one
   * matter reach a device in order.
   */
  readonly instance: string | null;
}

export function createPushQueue(deps: PushQueueDeps): PushQueue {
  const { store, devices, outcomes } = deps;

  const failed = (tx: SharedTx, { eventId }: Body): Asked<unknown> =>
    eventId === null ? answered(undefined) : outcomes.failed(tx, eventId);

  async function send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const body = item.body as Body;
    if (item.interrupted) return { to: 'dead', reason: cutOff };
    const device = await devices.get(body.deviceId);
    const firstFailed = (tx: SharedTx) => (item.attempt === 1 ? failed(tx, body) : answered(undefined));
    if (deps.pusher === null || device === null || device.userId !== body.userId) {
      return { to: 'dead', reason: 'the device is gone', commit: firstFailed };
    }
    const skipped = (reason: string): SharedLaneOutcome => {
      const { eventId } = body;
      if (eventId === null || item.attempt !== 1) return { to: 'dead', reason };
      return { to: 'dead', reason, commit: (tx) => outcomes.settle(tx, eventId, 'skipped') };
    };
    if (!((await deps.admits?.(body.userId)) ?? true)) return skipped('its person is disabled');
    const payload = await withButtons(deps, body, device);
    if (payload === null) return skipped('answered meanwhile');
    const urgent = urgentEvents.has(payload.data.event);
    const result = await deps.pusher.push(device, payload, { until: body.until, urgent });
    if (result.outcome !== 'retry') return settled(result, body, firstFailed);
    if (signal.aborted && !result.answered) return { to: 'dead', reason: cutOff };
    await store.write(function* (tx) {
      yield* devices.note(tx, device.id, 'unreachable');
      yield* firstFailed(tx);
    });
    return { to: 'retry', reason: result.detail, ...(result.at === undefined ? {} : { at: result.at }) };
  }

  function settled(
    result: Exclude<PushResult, { outcome: 'retry' }>,
    { deviceId, eventId }: Body,
    firstFailed: (tx: SharedTx) => Asked<unknown>,
  ): SharedLaneOutcome {
    if (result.outcome === 'sent') {
      return {
        to: 'done',
        *commit(tx) {
          yield* devices.note(tx, deviceId, 'sent');
          if (eventId !== null) yield* outcomes.took(tx, eventId);
        },
      };
    }
    const { outcome, detail } = result;
    return {
      to: 'dead',
      reason: detail,
      *commit(tx) {
        if (outcome === 'gone') yield* devices.remove(tx, deviceId);
        else yield* devices.note(tx, deviceId, outcome);
        yield* firstFailed(tx);
      },
    };
  }

  const lanes = deps.openLanes({
    send,
    onExpired: (tx, item) => (item.attempt === 0 ? failed(tx, item.body as Body) : answered(undefined)),
  });

  return {
    *queue(tx, { id, deadline, ...push }) {
      const to = yield* devices.idsOf(tx, push.userId);
      for (const deviceId of to) {
        const body: Body = { ...push, deviceId };
        yield* lanes.append(tx, {
          lane: deps.instance === null ? deviceId : `${deps.instance}/${deviceId}`,
          id: `${id}:${deviceId}`,
          body,
          deadline,
          person: push.userId,
        });
      }
      return to.length;
    },
    start: () => lanes.start(),
    close: () => lanes.close(graceMs),
  };
}

/**
 * Adds the whole question and the token of its buttons, made only now: no credential that answers an approval is stored in a lane. Null: the
 * question is no longer open.
 */
async function withButtons(
  { store, actions, openApproval }: Pick<PushQueueDeps, 'store' | 'actions' | 'openApproval'>,
  { payload, userId }: Body,
  device: Device,
): Promise<PushPayload | null> {
  const { event, approvalId } = payload.data;
  if (event !== 'approval.requested' || approvalId === undefined) return payload;
  const open = await store.read((tx) => openApproval(tx, approvalId, userId));
  if (open === 'closed') return null;
  if (open === 'unknown' || !device.answers) return payload;
  const approve = await actions.mint({ userId, approvalId, deviceId: device.id, expiresAt: open.until });
  // One line each, so that no command can pass for one with a reason.
  const asked = visibleLine(open.summary);
  const body = [
    payload.body,
    // Some titles are complete: `asks to run: npm test`.
    ...(payload.body.includes(asked) ? [] : [asked]),
    ...open.details.map(({ name, text }) => `${name}: ${visibleLine(text)}`),
    ...(open.reason === null ? [] : [`Its reason: ${visibleLine(open.reason)}`]),
  ].join('\n');
  return { ...payload, body, data: { ...payload.data, approve } };
}
