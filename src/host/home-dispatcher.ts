/**
 * The web port of one computer: one dispatcher while it is not paired, another on the same listener while it is. Owns
 * which of the two answers; must not know what either does.
 */
import { createPairedRoutes, type PairedRoutesDeps } from '../cloud-api/home/index.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';

export function createHomeDispatcher(serving: DispatcherOptions, deps: Omit<PairedRoutesDeps, 'routes'>): Dispatcher {
  const { home } = deps;
  const own = createDispatcher(serving);
  const paired = createPairedRoutes({ ...deps, routes: serving.routes });
  const forwarding = createDispatcher({ ...serving, routes: paired.routes });
  // Streams of the former home end: readers reconnect at once and find the new one.
  const stop = home.onChange(() => {
    own.cut(() => true);
    forwarding.cut(() => true);
  });
  return {
    handle: (request, response) => (home.current() === null ? own : forwarding).handle(request, response),
    routes: own.routes,
    get streams() {
      return own.streams + forwarding.streams;
    },
    cut(match) {
      own.cut(match);
      forwarding.cut(match);
    },
    close(reason) {
      stop();
      own.close(reason);
      forwarding.close(reason);
      paired.close();
    },
  };
}
