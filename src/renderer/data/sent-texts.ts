/** The words of what this window sent, by delivery: a Delivery does not carry its text. Kept while the window lives. */

/** Enough to know a message again. */
const shownLength = 160;
const kept = 200;

export interface SentTexts {
  remember(deliveryId: string, text: string): void;
  of(deliveryId: string): string | null;
}

export function createSentTexts(): SentTexts {
  const texts = new Map<string, string>();
  return {
    remember(deliveryId, text) {
      const line = text.replace(/\s+/g, ' ').trim();
      texts.set(deliveryId, line.length > shownLength ? `${line.slice(0, shownLength)}…` : line);
      const oldest = texts.keys().next().value;
      if (texts.size > kept && oldest !== undefined) texts.delete(oldest);
    },
    of: (deliveryId) => texts.get(deliveryId) ?? null,
  };
}
