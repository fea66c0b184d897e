/**
 * The request with which a paired or hosted computer dials its cloud: a WebSocket upgrade, signed like any call of a device with an empty body. It is no
 * route: the stream inside carries only bytes.
 */

/** Below the cloud's address; this is also the path that is signed. */
export const linkPath = '/api/v1/link';

export const dialInHeaders = {
  /** The bearer that this computer takes over this connection. */
  token: 'x-gantry-link-token',
  /** Rises with each connection of one computer: the newest wins, an older one is answered 409 with the newest. */
  epoch: 'x-gantry-link-epoch',
} as const;
