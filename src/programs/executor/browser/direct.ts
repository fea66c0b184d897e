/**
 * The devtools protocol of a tab without the library's own wire, which checks, copies and traces each call between its two halves in
 * this one process: 0.7 ms of a click (measured). It reaches into the library, whose version is pinned; where that is built otherwise,
 * the wire is used. Must not know tabs or members.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { CDPSession } from 'playwright-core';

export type Send = CDPSession['send'];
type PlainSend = (method: string, params?: unknown) => Promise<unknown>;

/** Each answer comes after all that the browser told before it, as on the wire: the wire takes what comes in turns of the loop. */
export function directOf(cdp: CDPSession): Send {
  const inner = innerOf(cdp);
  if (inner === null) return (method, params) => cdp.send(method, params);
  const direct: PlainSend = async (method, params) => {
    try {
      return await inner(method, params);
    } finally {
      await turn();
    }
  };
  return direct as Send;
}

/** Null: the library is built otherwise. */
export function innerOf(cdp: CDPSession): PlainSend | null {
  const { _connection: connection } = cdp as { _connection?: { toImpl?: (one: unknown) => unknown } };
  const inner = (connection?.toImpl?.(cdp) as { _session?: { send?: unknown } } | undefined)?._session;
  return typeof inner?.send === 'function' ? (inner.send as PlainSend).bind(inner) : null;
}
