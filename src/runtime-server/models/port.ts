/** One request to a model, over any wire: errors become a {@link ModelFault}. Must not know a vendor. */
import type { Clock } from '../../kit/clock/clock.ts';
import type { AskWire, Target } from './endpoints.ts';
import { faultOf } from './faults.ts';
import type { ModelPort } from './model.ts';

export function createPort(askWire: AskWire, target: Target, clock: Pick<Clock, 'now'>): ModelPort {
  return {
    async ask(ask) {
      let started = false;
      const onStart = () => {
        started = true;
        ask.onStart();
      };
      try {
        return await askWire(target, { ...ask, onStart });
      } catch (error) {
        throw faultOf(error, { clock, signal: ask.signal, started, where: target.where, secret: target.key });
      }
    },
  };
}
