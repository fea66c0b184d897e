/** Gives each name that a program asks for an address of this sandbox's own, by which its connections are known later. Must not know DNS. */

/** 198.18.0.0/15 is set aside for tests of networks (RFC 2544): nothing on the internet has such an address. */
export const namesNetwork = '198.18.0.0/15';
const first = 198 * 2 ** 24 + 18 * 2 ** 16;
const addresses = 2 ** 17;

interface Names {
  addressOf(name: string): string;
  /** Undefined: no name has this address. */
  nameAt(address: string): string | undefined;
}

/** With more than `max` names, the one that was asked for longest ago loses its address, which then stays unused as long as possible. */
export function createNames(max = 10_000): Names {
  /** The name that was asked for last is at the end. */
  const byName = new Map<string, string>();
  const byAddress = new Map<string, string>();
  let next = 0;

  function freeAddress(): string {
    for (;;) {
      // Neither the first nor the last address.
      next = (next % (addresses - 2)) + 1;
      const number = first + next;
      const address = [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
      if (!byAddress.has(address)) return address;
    }
  }

  return {
    addressOf(name) {
      const address = byName.get(name) ?? freeAddress();
      byName.delete(name);
      byName.set(name, address);
      byAddress.set(address, name);
      const [oldest] = byName;
      if (byName.size > max && oldest !== undefined) {
        byName.delete(oldest[0]);
        byAddress.delete(oldest[1]);
      }
      return address;
    },
    nameAt: (address) => byAddress.get(address),
  };
}
