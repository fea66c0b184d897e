/** Owner lookups for routes whose handlers a test gives itself: one answer for every noun that the tables name. */
import type { Route } from '../../src/contracts/common/route.ts';
import type { OwnerLookups } from '../../src/kit/http/types.ts';

export function ownersOf(routes: readonly Route[], answer: boolean): OwnerLookups {
  const nouns = routes.flatMap(({ owner }) => (typeof owner === 'object' && 'noun' in owner ? [owner.noun] : []));
  return Object.fromEntries(nouns.map((noun) => [noun, () => answer]));
}
