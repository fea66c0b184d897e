/** Closes what a test, or a file whose tests share what `beforeAll` started, has opened. Its hooks are set in setup.ts. */
const closers: (() => Promise<void> | void)[] = [];
let keeping = false;

/** Closes something after the test that started it. */
export function onEnd(close: () => Promise<void> | void): void {
  closers.push(close);
}

/** For files whose tests share what `beforeAll` started: nothing is closed until the answer is called, in `afterAll`. */
export function keepUntilEnd(): () => Promise<void> {
  keeping = true;
  return closeAll;
}

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export async function testIsOver(): Promise<void> {
  if (!keeping) await closeAll();
}

/** Files of one worker share this module. */
export function fileBegins(): void {
  keeping = false;
}
