/** Effects to run once a write is durable. First users: both engines. Must not know what an effect does. */

/** `onFault`: an effect threw, which is a fault of the program. The others run all the same. */
export function runEffects(effects: readonly (() => void)[], onFault: (error: unknown) => void): void {
  for (const effect of effects) {
    try {
      effect();
    } catch (error) {
      onFault(error);
    }
  }
}
