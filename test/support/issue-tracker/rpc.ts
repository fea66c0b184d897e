/** An answer that is an error of JSON-RPC. */
export class RpcFault extends Error {
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** HTTP status. */
  readonly status: number;
  constructor(code: number, message: string, data?: Readonly<Record<string, unknown>>, status = 200) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
  }
}
