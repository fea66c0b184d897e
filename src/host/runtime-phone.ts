/** Composes the phone's half on this computer: its connection to the home cloud. */
import { createPhone, type Phone } from '../runtime-server/phone/index.ts';
import type { HomeLink } from './home-link.ts';
import type { RuntimeCore } from './runtime-core.ts';

/** Somebody waits for an answer; a cloud of the same process is back within a second. */
const backoffMs = [500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

export function createRuntimePhone({ homeLink, ...core }: RuntimeCore & { readonly homeLink: HomeLink }): Phone {
  const phone = createPhone({
    ...core,
    openLanes: (worker) =>
      core.openLanes({ ...worker, name: 'texts', backoffMs, failed: 'A text could not be forwarded.' }),
    call: (request) => homeLink.home.call(request),
  });
  core.closing.add('texts', () => phone.close());
  homeLink.onHome(() => phone.wake());
  homeLink.onLinked(() => phone.wake());
  return phone;
}
