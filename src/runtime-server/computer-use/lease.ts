/**
 * The right to act. At most one holder at a time, for 60 s unless renewed. A person outranks runs and keys; only a person or
 * another run keeps others out. In memory: after a restart nobody holds it. Must not know calls.
 */

import { AppError } from '../../contracts/common/errors.ts';
import { type Control, controlSeconds } from '../../contracts/computer-use/toolset.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Base } from '../base/base.ts';
import type { Holder } from './gate.ts';

export type ControlChange = 'taken' | 'released' | 'expired' | 'elsewhere';

export interface Lease {
  now(): Control;
  /** Takes control that is free, the holder's own, or held by somebody whom it outranks; else throws 423. */
  take(holder: Holder): Control;
  /** Throws 423 for anybody else than the current holder. */
  renew(holder: Holder): Control;
  /** Nothing happens where another has it. */
  release(holder: Holder): Control;
  /** For a call: as `take`, but silent for who has it already. */
  hold(holder: Holder): void;
  /** Whether a call of this holder may act now; without taking anything. */
  holds(holder: Holder): boolean;
  close(): void;
}

interface Held {
  readonly holder: Holder;
  readonly since: number;
  endsAt: number;
  cancel: () => void;
}

const leaseMs = controlSeconds * 1000;

export function createLease({
  clock,
  timers,
  changed,
}: Pick<Base, 'clock' | 'timers'> & {
  /** `lost`: who had it until now. */
  readonly changed: (why: ControlChange, lost: Holder | null) => void;
}): Lease {
  let held: Held | null = null;

  const same = (one: Holder, other: Holder) => one.kind === other.kind && one.id === other.id;
  const current = () => (held !== null && held.endsAt > clock.now() ? held : null);

  function now(): Control {
    const has = current();
    if (has === null) return { holder: null, since: null, expires_at: null };
    return {
      holder: { kind: has.holder.kind, id: has.holder.id },
      since: iso(has.since),
      expires_at: iso(has.endsAt),
    };
  }

  function arm(one: Held): void {
    one.cancel();
    one.cancel = timers.after(one.endsAt - clock.now(), () => {
      if (held !== one) return;
      if (one.endsAt > clock.now()) return arm(one);
      held = null;
      changed('expired', one.holder);
    });
  }

  /** The holder that keeps `holder` out; null where none does. */
  function inTheWay(holder: Holder): Held | null {
    const has = current();
    if (has === null || same(has.holder, holder)) return null;
    if (has.holder.kind === 'key') return null;
    return holder.kind === 'person' && has.holder.kind === 'run' ? null : has;
  }

  function refuse(has: Held): never {
    const who = has.holder.kind === 'person' ? 'A person' : `The run ${has.holder.id}`;
    const until = iso(has.endsAt);
    throw new AppError(
      'refused',
      `${who} has control of this computer until ${until}, unless it is renewed.`,
      'Take control first, or wait until it is released.',
      {
        status: 409,
        wireCode: 'take_control_first',
        extra: { control: now() },
        retryAfter: (has.endsAt - clock.now()) / 1000,
      },
    );
  }

  function take(holder: Holder): Control {
    const other = inTheWay(holder);
    if (other !== null) refuse(other);
    const has = current();
    if (has !== null && same(has.holder, holder)) {
      has.endsAt = clock.now() + leaseMs;
      arm(has);
      return now();
    }
    const lost = has?.holder ?? null;
    held?.cancel();
    const since = clock.now();
    held = { holder, since, endsAt: since + leaseMs, cancel: () => {} };
    arm(held);
    changed('taken', lost);
    return now();
  }

  return {
    now,
    take,
    renew(holder) {
      const has = current();
      if (has !== null && same(has.holder, holder)) return take(holder);
      const other = inTheWay(holder);
      if (other !== null) refuse(other);
      throw new AppError(
        'refused',
        'You no longer have control of this computer.',
        'Take control first, then renew it in time.',
        { status: 409, wireCode: 'take_control_first', extra: { control: now() } },
      );
    },
    hold: (holder) => void take(holder),
    holds: (holder) => inTheWay(holder) === null,
    release(holder) {
      const has = current();
      if (has !== null && same(has.holder, holder)) {
        has.cancel();
        held = null;
        changed('released', holder);
      }
      return now();
    },
    close: () => held?.cancel(),
  };
}
