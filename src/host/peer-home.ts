/** Reaches other computers through the home cloud, for the factory: a bearer of this device for the routes of computers. */
import { createDeviceToken } from '../contracts/link/device.ts';
import type { Home } from '../runtime-server/link/home.ts';
import type { PeerHome } from '../runtime-server/peers/remote/index.ts';

/** A cloud that does not answer by then is away. Milliseconds. */
const mintMs = 10_000;

export function createPeerHome(home: Home): PeerHome {
  return {
    address() {
      const now = home.current();
      return now.kind === 'paired' ? now.cloudUrl : null;
    },
    async mintToken() {
      const { method, path, answers } = createDeviceToken;
      const answer = await home.call({ method, path, body: {}, signal: AbortSignal.timeout(mintMs) });
      const minted = answers[200].safeParse(answer.body);
      if (answer.status !== 200 || !minted.success) throw new Error(`it answered ${answer.status}`);
      return { token: minted.data.token, expiresAt: Date.parse(minted.data.expiresAt) - (home.aheadMs() ?? 0) };
    },
    onChange: (listener) => home.onChange(() => listener()),
  };
}
