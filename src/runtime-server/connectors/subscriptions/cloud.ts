/** Registers a subscription at the home cloud, with the error where that fails. Must not know servers or rows. */
import { registerSubscription } from '../../../contracts/connectors/relay.ts';
import { EventFault } from '../ports.ts';
import type { EventHome } from './deps.ts';

interface Registration {
  readonly id: string;
  readonly connectorId: string;
  readonly name: string;
  readonly secret: string;
}

const local = new Set(['localhost', '127.0.0.1', '[::1]']);
const isLocal = (url: string) => URL.canParse(url) && local.has(new URL(url).hostname);

/** Throws `EventFault` where no server of that address could ever reach the home cloud. */
export function checkReachable(home: Pick<EventHome, 'url'>, connectorUrl: string): void {
  const url = home.url();
  if (url === null)
    throw new EventFault('not_paired', null, 'This computer is not paired with a cloud. Pair it first.');
  if (isLocal(url) && !isLocal(connectorUrl)) {
    const fact = `Servers elsewhere cannot reach ${url}. Pair this computer with a cloud that they can reach.`;
    throw new EventFault('not_paired', null, fact);
  }
}

/** Returns the callback. The same secret again changes nothing there. Throws `EventFault`. */
export async function register(home: EventHome, to: Registration, signal: AbortSignal): Promise<string> {
  const { method, path } = registerSubscription;
  const body = { secret: to.secret, connectorId: to.connectorId, eventName: to.name };
  let answer: { readonly status: number; readonly body: unknown };
  try {
    answer = await home.call({ method, path: path.replace(':sub', to.id), body, signal });
  } catch (cause) {
    throw new EventFault('cloud_unreachable', null, 'The home cloud cannot be reached.', cause);
  }
  const { status } = answer;
  const url = (answer.body as { callbackUrl?: unknown } | null)?.callbackUrl;
  if (status === 200 && typeof url === 'string' && URL.canParse(url)) return url;
  // 401: our clock is off, or a signature was used; the next try signs again.
  if (status === 401 || status === 408 || status === 429 || status >= 500) {
    throw new EventFault('cloud_unreachable', status, `The home cloud answered ${status}.`);
  }
  if ((answer.body as { error?: unknown } | null)?.error === 'too_many_subscriptions') {
    const fact = 'The home cloud accepts no more subscriptions from this computer. End some of them.';
    throw new EventFault('too_many_subscriptions', status, fact);
  }
  throw new EventFault('internal', status, `The home cloud refused the registration (${status}).`);
}
