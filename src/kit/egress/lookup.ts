/** Looks a name up, and gives its addresses only if each of them may be connected to. Must not know who decides that. */
import type { LookupAddress, LookupOptions } from 'node:dns';

export type Lookup = (
  name: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** For `connect`, in the form that Node wants. `refused` makes the error of a name that has another address, or none. */
export function checkedLookup(lookup: Lookup, may: (address: string) => boolean, refused: (name: string) => Error) {
  return (name: string, asked: LookupOptions, done: (...answer: never[]) => void): void => {
    // Node asks for all addresses or for one, and expects the answer in the same form.
    const answer = done as unknown as (error: Error | null, found?: string | LookupAddress[], family?: number) => void;
    lookup(name, { ...asked, all: true }, (error, addresses) => {
      if (error !== null) return answer(error);
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => may(address))) return answer(refused(name));
      if (asked.all === true) answer(null, addresses);
      else answer(null, first.address, first.family);
    });
  };
}
