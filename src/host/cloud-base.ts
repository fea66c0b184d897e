/** What every area of a cloud receives. Must not know any area. */
import type { Clock } from '../kit/clock/clock.ts';
import type { Timers } from '../kit/clock/timers.ts';
import type { EgressMeter } from '../kit/egress/egress-metrics.ts';
import type { HttpLog } from '../kit/http/dispatcher.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { SharedLanes } from '../kit/lane/lane.ts';
import type { LaneMetrics } from '../kit/lane/lane-metrics.ts';
import { createSharedLanes, type SharedLanesOptions } from '../kit/lane/shared-lanes.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';

export interface CloudBase {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: HttpLog;
  readonly masterKey: string;
  /** The address that people use. */
  readonly origin: string;
  readonly egress: EgressMeter;
  readonly outboxes: LaneMetrics;
  readonly telemetry: Telemetry | undefined;
}

/** Opens an outbox, which the metrics count. `failed` says in the log what could not be sent. */
export function openOutbox(
  { store, clock, log, outboxes, telemetry }: Pick<CloudBase, 'store' | 'clock' | 'log' | 'outboxes' | 'telemetry'>,
  {
    failed,
    ...options
  }: Omit<SharedLanesOptions, 'store' | 'clock' | 'trace' | 'onFault'> & { readonly failed: string },
): SharedLanes {
  const onFault = (fault: unknown) => log.error(failed, { fault: String(fault) });
  return outboxes.watch(options.name, createSharedLanes({ ...options, store, clock, trace: telemetry, onFault }));
}
