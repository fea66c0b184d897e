/** A desk in memory, and the people who answer at it: what the harness needs of the approvals desk, as that one keeps it. */
import type {
  PermissionAnswer,
  PermissionApprovals,
  PermissionAsk,
  PermissionPolicy,
} from '../../../src/runtime-server/harness/harness.ts';

interface Held {
  readonly id: string;
  readonly ask: PermissionAsk;
  readonly resolve: ((answer: PermissionAnswer) => void)[];
  ended: PermissionAnswer | null;
}

export interface People extends PermissionApprovals {
  /** Everything that was ever asked, in order; a question that was joined stands once. */
  readonly held: readonly Held[];
  answer(id: string, kind: 'approve' | 'reject', note?: string | null): void;
  expire(id: string): void;
  /** The next questions fail with this. */
  refuse: Error | null;
}

export function createPeople(): People {
  const held: Held[] = [];
  const find = (id: string) => {
    const found = held.find((each) => each.id === id);
    if (!found) throw new Error(`Nobody asked ${id}.`);
    return found;
  };
  const end = (hold: Held, answer: PermissionAnswer) => {
    if (hold.ended !== null) return;
    hold.ended = answer;
    for (const resolve of hold.resolve) resolve(answer);
  };
  const people: People = {
    held,
    refuse: null,
    async ask(ask) {
      if (people.refuse) throw people.refuse;
      let hold = held.find((each) => each.ended === null && each.ask.dedupeKey === ask.dedupeKey);
      if (!hold) {
        hold = { id: `apr_${held.length + 1}`, ask, resolve: [], ended: null };
        held.push(hold);
      }
      const joined = hold;
      return { id: hold.id, answer: new Promise((resolve) => joined.resolve.push(resolve)) };
    },
    async withdraw(id, surface) {
      end(find(id), { kind: 'withdrawn', surface });
    },
    answer: (id, kind, note = null) => end(find(id), { kind, note, by: { user: 'local', surface: 'browser' } }),
    expire: (id) => end(find(id), { kind: 'expired' }),
  };
  return people;
}

/** A policy without rules: everything is asked. */
export const askAlways: PermissionPolicy = {
  decide: () => ({ verdict: 'ask', rule: 'default: actions need approval' }),
};
