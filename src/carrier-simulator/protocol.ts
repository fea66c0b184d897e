/** What the simulated carrier's program is told on its stdin, and says on its stdout: one line of JSON each. It ends with its stdin. */

export interface SimulatorAsked {
  /** Where it keeps its state. */
  readonly file: string;
  /** 0: any free one. */
  readonly port: number;
  readonly apiKey: string;
  /** Where events go that no request names an address for. */
  readonly webhookUrl: string;
}

export interface SimulatorSaid {
  /** Of the carrier's routes, `http://127.0.0.1:1234/v2`. */
  readonly url: string;
  /** Of its own, `/sim`. */
  readonly origin: string;
  /** Base64 of 32 bytes. */
  readonly publicKey: string;
}

/** Of its control, which host and cloud reach by the key of the account. */
export const controlBase = '/sim';
