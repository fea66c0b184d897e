/** Whether the database answers, on request. Discloses neither its place nor the cause of a failure: anybody may ask. */
import { AppError } from '../../contracts/common/errors.ts';
import { cloudHealth } from '../../contracts/identity/health.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

/** The caller has its own deadline of a few seconds. */
const patienceMs = 2_000;

export function createHealthRoute(store: Pick<SharedStore, 'get' | 'trouble'>): BoundRoute {
  return bind(cloudHealth, async () => {
    const told = await answers(store);
    if (told && store.trouble() === null) return { body: { ok: true as const } };
    const fact = told ? 'The database of this cloud cannot be written.' : 'The database of this cloud does not answer.';
    throw new AppError('transport', fact, 'See its log for the reason; it recovers automatically.', {
      wireCode: 'unavailable',
    });
  });
}

async function answers(store: Pick<SharedStore, 'get'>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), patienceMs);
  });
  const asked = store.get('SELECT 1 AS one').then(
    () => true,
    () => false,
  );
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}
