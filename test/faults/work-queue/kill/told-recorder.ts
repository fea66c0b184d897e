/**
 * Loaded into each worker before its own code (`NODE_OPTIONS=--import`), into its thread too: writes down what each answer of the queue
 * told it about a lease, by the worker's own clock, before the worker sees it. No code of the product takes part.
 */
import { appendFileSync } from 'node:fs';

export interface Told {
  readonly id: string;
  readonly fence: number;
  /** When the worker asked, ms since the epoch on its clock, and for how long from then on it was told that the task is its own. */
  readonly askedAt: number;
  readonly ttlMs: number;
}

const file = process.env.GANTRY_TEST_TOLD;
if (file !== undefined) {
  const real = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const askedAt = Date.now();
    const response = await real(input, init);
    const [asked = '', verb] = new URL(String(input)).pathname.split('/').slice(3);
    if (!response.ok || (verb !== 'heartbeat' && asked !== 'queue')) return response;
    const { task, lease } = (await response.clone().json()) as {
      task?: { id: string } | null;
      lease: { fence: number; ttl_seconds: number } | null;
    };
    const id = verb === 'heartbeat' ? asked : task?.id;
    if (lease === null || id === undefined) return response;
    const told: Told = { id, fence: lease.fence, askedAt, ttlMs: lease.ttl_seconds * 1000 };
    appendFileSync(file, `${JSON.stringify(told)}\n`);
    return response;
  };
}
