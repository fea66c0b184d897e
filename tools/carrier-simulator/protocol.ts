/** The messages of the simulated carrier's program on its stdin and stdout: one line of JSON each. It ends with its stdin. */

export interface SimulatorAsked {
  /** File of its state. */
  readonly file: string;
  /** 0: any free one. */
  readonly port: number;
  readonly apiKey: string;
  /** Address for events whose request names none. */
  readonly webhookUrl: string;
}

export interface SimulatorSaid {
  /** Address of the carrier's routes, `http://127.0.0.1:1234/v2`. */
  readonly url: string;
  /** Address of its control, `/sim`. */
  readonly origin: string;
  /** Base64 of 32 bytes. */
  readonly publicKey: string;
}
