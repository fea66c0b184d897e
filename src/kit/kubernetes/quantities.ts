/** Quantities such as `512Mi` and `100m`, and what a ResourceQuota says in them when it refuses. Pure. Must not know what is made in the cluster. */

const units: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** NaN: not a quantity. */
function quantityOf(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  return number === '' ? Number.NaN : Number(number) * (units[unit] ?? Number.NaN);
}

/** As an API server lists them: `pods=1,requests.memory=224Mi`. */
function quantitiesAfter(word: string, said: string): ReadonlyMap<string, number> {
  const [, list = ''] = new RegExp(`\\b${word}: ([^ ]+?),?(?: |$)`).exec(said) ?? [];
  return new Map(
    list.split(',').map((one) => {
      const [name = '', value = ''] = one.split('=');
      return [name, quantityOf(value)] as const;
    }),
  );
}

/** What a refusal says of quotas. `too small`: what was asked for is more than the whole quota, so waiting does not help. */
export function quotaIn(said: string): 'none' | 'used up' | 'too small' {
  if (!/exceeded quota: /.test(said)) return 'none';
  const limited = quantitiesAfter('limited', said);
  const isMore = [...quantitiesAfter('requested', said)].some(
    ([name, value]) => value > (limited.get(name) ?? Number.POSITIVE_INFINITY),
  );
  return isMore ? 'too small' : 'used up';
}
