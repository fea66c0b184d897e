/** What was asked of the runtime and what it acknowledged, remembered outside of it. */
export interface Witnessed {
  /** Message number → delivery id, once answered. */
  readonly acknowledged: Map<number, string>;
  /** Messages whose answer never came. */
  readonly unanswered: Set<number>;
  /** Typed numbers whose call was answered. */
  readonly typed: Set<number>;
  /** Highest numbers used so far. */
  messages: number;
  keys: number;
}

export interface Delivery {
  readonly id: string;
  readonly state: string;
  readonly detail?: string;
}

/** `m000012`, `k000345`: fixed width, so that no number is part of another. */
export const token = (kind: 'm' | 'k', number: number) => `${kind}${String(number).padStart(6, '0')}`;

/** All numbers of a kind in a text, in their order. */
export function tokensIn(kind: 'm' | 'k', text: string): number[] {
  return [...text.matchAll(new RegExp(`${kind}(\\d{6})`, 'g'))].map((match) => Number(match[1]));
}

export function newRecord(): Witnessed {
  return { acknowledged: new Map(), unanswered: new Set(), typed: new Set(), messages: 0, keys: 0 };
}
