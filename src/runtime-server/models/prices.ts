/**
 * Prices of models, as data: US dollars per million tokens, from the vendors' public price lists. A missing model has an unknown price and is shown
 * so: nothing is guessed. A person adds or changes prices under `models.prices` in settings.json.
 */
import type { Usage } from './model.ts';

export interface Price {
  readonly input: number;
  readonly output: number;
  /** Without one, cached input costs as much as other input. */
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  /** Requests with more input have another price, which is not known here. Tokens. */
  readonly upToInput?: number;
}

/** Last compared with the vendors' lists in November 2025. */
const prices: Readonly<Record<string, Price>> = {
  'claude-opus-4-5': { input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25 },
  'claude-sonnet-4-5': { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75, upToInput: 200_000 },
  'claude-haiku-4-5': { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25 },
  'gpt-5': { input: 1.25, output: 10, cachedInput: 0.125 },
  'gpt-5-mini': { input: 0.25, output: 2, cachedInput: 0.025 },
  'gpt-5-nano': { input: 0.05, output: 0.4, cachedInput: 0.005 },
  'gpt-4.1': { input: 2, output: 8, cachedInput: 0.5 },
  'gpt-4.1-mini': { input: 0.4, output: 1.6, cachedInput: 0.1 },
  'gpt-4o': { input: 2.5, output: 10, cachedInput: 1.25 },
  'gpt-4o-mini': { input: 0.15, output: 0.6, cachedInput: 0.075 },
  'gemini-2.5-pro': { input: 1.25, output: 10, cachedInput: 0.125, upToInput: 200_000 },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, cachedInput: 0.03 },
  'gemini-2.5-flash-lite': { input: 0.1, output: 0.4, cachedInput: 0.01 },
};

type PriceOf = (model: string) => Price | null;

/** By name, or by name without the date a vendor adds (`-20250929`, `-2025-08-07`). `own` wins. */
export function createPriceOf(own: Readonly<Record<string, Price>> = {}): PriceOf {
  const all = { ...prices, ...own };
  const find = (model: string) => (Object.hasOwn(all, model) ? all[model] : undefined);
  return (model) => find(model) ?? find(model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '')) ?? null;
}

/** Millionths of a dollar; null where the price is not known. */
export function costOf(usage: Usage, price: Price | null): number | null {
  if (price === null) return null;
  const asked = usage.input + usage.cachedInput + usage.cacheWrite;
  if (price.upToInput !== undefined && asked > price.upToInput) return null;
  return Math.ceil(
    usage.input * price.input +
      usage.cachedInput * (price.cachedInput ?? price.input) +
      usage.cacheWrite * (price.cacheWrite ?? price.input) +
      usage.output * price.output,
  );
}
