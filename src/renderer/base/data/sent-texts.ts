/**
 * The words of what this tab sent, by delivery: a Delivery does not carry its text. Kept in the tab's own storage, so that a
 * reload still shows them. Must not know how they are shown.
 */
import { z } from 'zod';
import { readJson, writeJson } from './settings.ts';

/** Enough to know a message again. */
const shownLength = 160;
const kept = 200;
const storageKey = 'gantry.sent';

const Stored = z.array(z.tuple([z.string(), z.string()])).max(kept);

export interface SentTexts {
  remember(deliveryId: string, text: string): void;
  of(deliveryId: string): string | null;
}

export function createSentTexts(storage: Pick<Storage, 'getItem' | 'setItem'>): SentTexts {
  const texts = new Map<string, string>(Stored.catch([]).parse(readJson(storage, storageKey) ?? []));
  return {
    remember(deliveryId, text) {
      const line = text.replace(/\s+/g, ' ').trim();
      texts.set(deliveryId, line.length > shownLength ? `${line.slice(0, shownLength)}…` : line);
      const oldest = texts.keys().next().value;
      if (texts.size > kept && oldest !== undefined) texts.delete(oldest);
      writeJson(storage, storageKey, [...texts]);
    },
    of: (deliveryId) => texts.get(deliveryId) ?? null,
  };
}
