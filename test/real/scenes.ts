/** The scenes of a job apart: each is played, timed and told in one line; the first that fails ends its part, since what comes after needs it. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Scenes {
  /** `play` answers what was seen, in words. */
  scene(name: string, play: () => Promise<string>): Promise<void>;
  failed(): number;
  /** What failed outside a scene. */
  fail(where: string, error: Error): void;
}

/** `onFail`: says more about what was there when a scene failed. */
export function createScenes(onFail: () => Promise<void> = async () => {}): Scenes {
  let failed = 0;
  return {
    failed: () => failed,
    fail(where, error) {
      failed += 1;
      console.log(`FAIL ${where}: ${error.stack}`);
    },
    async scene(name, play) {
      const from = performance.now();
      try {
        const words = await play();
        console.log(`ok   ${name} (${seconds(from)}): ${words}`);
      } catch (error) {
        failed += 1;
        console.log(`FAIL ${name} (${seconds(from)}): ${(error as Error).message}`);
        await onFail();
        throw error;
      }
    },
  };
}

export const seconds = (from: number) => `${((performance.now() - from) / 1000).toFixed(1)} s`;

/** Asks again until there is something; a look that throws is one that found nothing. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | null | false>,
  ms = 30_000,
): Promise<T> {
  const end = performance.now() + ms;
  let last = '';
  while (performance.now() < end) {
    try {
      const found = await look();
      if (found) return found;
    } catch (error) {
      last = `; ${(error as Error).message}`;
    }
    await delay(100);
  }
  throw new Error(`${what}: not within ${ms / 1000} s${last}`);
}

/** As a person reads a dialog before answering: agent programs drop keys that come as soon as they have drawn one, and nothing shows when they no longer do. */
export const readDialog = () => delay(1500);
