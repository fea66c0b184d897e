/**
 * Which due lane is next: one of the person who has the fewest under way; among these, the one whose last turn is longest ago. Nobody gets more than
 * a share. First user: lanes. Must not know what is sent.
 */

interface Turns {
  /** Up to this many of the due ones, in the order in which they may begin. */
  order<State extends { readonly whose: string }>(
    due: readonly (readonly [lane: string, state: State])[],
    places: number,
  ): (readonly [lane: string, state: State])[];
  begin(whose: string): void;
  end(whose: string): void;
}

/** Beyond this many persons, last turns are forgotten, which costs a person their place once. */
const maxRemembered = 10_000;

export function createTurns(share: number): Turns {
  const underWay = new Map<string, number>();
  const lastTurn = new Map<string, number>();
  let count = 0;

  return {
    order(due, places) {
      const lanesOf = new Map<string, (typeof due)[number][]>();
      for (const entry of due) {
        const lanes = lanesOf.get(entry[1].whose);
        if (lanes === undefined) lanesOf.set(entry[1].whose, [entry]);
        else lanes.push(entry);
      }
      // One after the other: each choice changes the counts and last turns for the next.
      let waiting = [...lanesOf].map(([whose, lanes]) => ({
        lanes: lanes.reverse(),
        has: underWay.get(whose) ?? 0,
        last: lastTurn.get(whose) ?? 0,
      }));
      const chosen: (typeof due)[number][] = [];
      for (let turn = count + 1; chosen.length < places; turn += 1) {
        waiting = waiting.filter(({ lanes, has }) => lanes.length > 0 && has < share);
        if (waiting.length === 0) break;
        const next = waiting.reduce((best, one) =>
          one.has < best.has || (one.has === best.has && one.last < best.last) ? one : best,
        );
        chosen.push(next.lanes.pop() as (typeof due)[number]);
        next.has += 1;
        next.last = turn;
      }
      return chosen;
    },
    begin(whose) {
      count += 1;
      underWay.set(whose, (underWay.get(whose) ?? 0) + 1);
      if (lastTurn.size >= maxRemembered) lastTurn.clear();
      lastTurn.set(whose, count);
    },
    end(whose) {
      const left = (underWay.get(whose) ?? 1) - 1;
      if (left === 0) underWay.delete(whose);
      else underWay.set(whose, left);
    },
  };
}
