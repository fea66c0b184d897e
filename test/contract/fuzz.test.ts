/** Whatever comes in, a route answers with a status it declares, in the shape of its area, and never with a fault. */

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AppError, FactoryError } from '../../src/contracts/common/errors.ts';
import { factoryRoutes } from '../../src/contracts/factory/routes.ts';
import type { BoundRoute } from '../../src/kit/http/types.ts';
import { startPair } from '../host/support.ts';
import { type Call, keepUntilEnd } from '../kit/http/support.ts';
import { ownersOf } from '../support/owner-lookups.ts';

let call: Call;
const stop = keepUntilEnd();
beforeAll(async () => {
  const routes = factoryRoutes.map(
    (route): BoundRoute => ({
      route,
      handler: () => {
        throw new AppError('timeout', 'the handler was reached', '');
      },
    }),
  );
  const pair = await startPair({ routes, owners: ownersOf(factoryRoutes, true) });
  call = pair.callEngine;
});
afterAll(stop);

const word = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('__proto__', 'constructor', '..', '%00', 'agent_1', 'a'.repeat(300), '\u202e', '💥', ''),
);
const body = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(
    fc.constantFrom('to', 'text', 'keys', 'cols', 'rows', 'preset', 'dryRun', 'title', 'bot', 'x'),
    fc.jsonValue(),
  ),
);
// The budget for odd requests is the test's time: enough to find what a person would not try.
const runs = { numRuns: 40 };

test.each(factoryRoutes.map((route) => ({ op: route.op, route })))('$op', async ({ route }) => {
  await fc.assert(
    fc.asyncProperty(word, fc.dictionary(word, word, { maxKeys: 3 }), body, async (id, query, sent) => {
      const path = route.path.replace(/:\w+/g, () => encodeURIComponent(id.toWellFormed()));
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, value])).toString();
      const reply = await call(route.method, search === '' ? path : `${path}?${search}`, {
        body: route.method === 'GET' ? undefined : sent,
      });
      expect([400, 403, 404, 504]).toContain(reply.status);
      expect(FactoryError.safeParse(reply.json).success).toBe(true);
    }),
    runs,
  );
});
