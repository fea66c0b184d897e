/** Serialises work on one subscription: a refresh, an end and a lost sign-in must not cross. Must not know the work. */

export type OneAtATime = <T>(id: string, work: () => Promise<T>) => Promise<T>;

export function createOneAtATime(): OneAtATime {
  const last = new Map<string, Promise<unknown>>();
  return (id, work) => {
    const before = last.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(id, mine);
    const forget = () => {
      if (last.get(id) === mine) last.delete(id);
    };
    mine.then(forget, forget);
    return mine;
  };
}
