/** Composes the phone's half on this computer: its connection to the home cloud. */
import type { Clock } from '../kit/clock/clock.ts';
import { createLanes } from '../kit/lane/create-lanes.ts';
import type { LaneMetrics } from '../kit/lane/lane-metrics.ts';
import type { Log } from '../kit/log/log.ts';
import type { Store } from '../kit/store/store.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';
import { createPhone, type Phone } from '../runtime-server/phone/index.ts';
import type { Closing } from './closing.ts';
import type { HomeLink } from './home-link.ts';

/** Somebody waits for an answer; a cloud of the same process is back within a second. */
const backoffMs = [500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

export function createRuntimePhone({
  store,
  clock,
  log,
  homeLink,
  closing,
  outboxes,
  telemetry,
}: {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly homeLink: HomeLink;
  readonly closing: Closing;
  readonly outboxes: LaneMetrics;
  readonly telemetry: Telemetry;
}): Phone {
  const phone = createPhone({
    store,
    clock,
    log,
    openLanes: (worker) =>
      outboxes.watch(
        'texts',
        createLanes({
          store,
          clock,
          name: 'texts',
          ...worker,
          trace: telemetry,
          backoffMs,
          onFault: (fault) => log.error('A text could not be forwarded.', { fault: String(fault) }),
        }),
      ),
    call: (request) => homeLink.home.call(request),
  });
  closing.add('texts', () => phone.close());
  homeLink.onHome(() => phone.wake());
  homeLink.onLinked(() => phone.wake());
  return phone;
}
