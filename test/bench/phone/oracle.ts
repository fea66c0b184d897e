/**
 * The rules that must hold, derived only from what people, carrier and owner did and kept apart from the program: who opted out, what was paid, who
 * got what. Collects violations as sentences.
 */

interface Pair {
  out: boolean;
  changedAt: number;
  texted: boolean;
  consented: boolean;
  /** STOPs that a confirmation may follow, and those that did. */
  confirmable: number;
  confirmed: number;
}

export interface InboundFact {
  readonly pair: string;
  readonly botId: string;
  readonly computerId: string;
  /** Null: either is right. */
  readonly forBot: boolean | null;
}

export function createOracle() {
  const violations: string[] = [];
  const pairs = new Map<string, Pair>();
  /** Of this step, begun and not over: both outcomes are right. */
  const flux = new Set<string>();
  const paid = new Map<string, number>();
  const inbound = new Map<string, InboundFact>();
  const released = new Set<string>();

  function pairOf(name: string): Pair {
    let pair = pairs.get(name);
    if (pair === undefined) {
      pair = { out: false, changedAt: 0, texted: false, consented: false, confirmable: 0, confirmed: 0 };
      pairs.set(name, pair);
    }
    return pair;
  }

  const fail = (sentence: string) => {
    if (violations.length < 1000) violations.push(sentence);
  };

  return {
    violations,
    fail,
    flux,
    paid,
    inbound,
    released,
    isOut: (name: string) => pairOf(name).out,
    hasTexted: (name: string) => pairOf(name).texted,
    /** Somebody said it at `at`; what was said later holds, STOP at one time. */
    said(name: string, action: 'stop' | 'start', at: number, confirm: boolean): void {
      const pair = pairOf(name);
      const out = action === 'stop';
      if (at < pair.changedAt || (at === pair.changedAt && !out && pair.out)) return;
      if (out && !pair.out && confirm) pair.confirmable += 1;
      pair.out = out;
      pair.changedAt = at;
    },
    consented(name: string): void {
      pairOf(name).consented = true;
    },
    mayCall: (name: string) => pairOf(name).texted || pairOf(name).consented,
    /** The carrier rings somebody up: it is paid for. */
    called(name: string, key: string): void {
      paid.set(key, (paid.get(key) ?? 0) + 1);
      if (paid.get(key) !== 1) fail(`${key} rang ${paid.get(key)} times.`);
      if (released.has(name.split('/')[0] as string)) fail(`${key} rang from a number that was released.`);
      if (pairOf(name).out && !flux.has(name)) fail(`${key} rang ${name} after STOP.`);
    },
    /** It stands on the carrier's list since `at`. */
    listed(name: string, at: number): void {
      const pair = pairOf(name);
      if (pair.out || (pair.changedAt !== 0 && at <= pair.changedAt)) return;
      pair.out = true;
      pair.changedAt = at;
    },
    texted(name: string): void {
      pairOf(name).texted = true;
    },
    /** The carrier took a text to be sent: it is paid for. */
    took(name: string, tag: string, kind: 'stop' | 'help' | 'other'): void {
      const pair = pairOf(name);
      paid.set(tag, (paid.get(tag) ?? 0) + 1);
      if (paid.get(tag) !== 1) fail(`${tag} was sent ${paid.get(tag)} times.`);
      if (released.has(name.split('/')[0] as string)) fail(`${tag} left a number that was released.`);
      if (!pair.texted && !flux.has(name)) fail(`${tag} went to ${name}, who never wrote.`);
      if (kind === 'stop') {
        pair.confirmed += 1;
        if (pair.confirmed > pair.confirmable && !flux.has(name)) fail(`${name} was told of one STOP twice.`);
      } else if (kind === 'other' && pair.out && !flux.has(name)) fail(`${tag} left for ${name} after STOP.`);
    },
  };
}

export type Oracle = ReturnType<typeof createOracle>;
