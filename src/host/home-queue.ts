/** The work queue of the home cloud, for steps of runs: asked with the signature of this computer. */
import type { Home } from '../runtime-server/link/home.ts';
import type { WorkQueue } from '../runtime-server/workflows/worker-steps/calls.ts';

export function createHomeQueue(home: Pick<Home, 'current' | 'call'>): WorkQueue {
  return {
    problem: () =>
      home.current().cloudUrl === null ? 'This computer is not paired with a cloud, whose queue workers ask.' : null,
    call: (request) => home.call(request),
  };
}
