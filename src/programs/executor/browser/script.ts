/** Runs a script in a page and returns the value of its last expression. Must not know members. */
import { maxReadLength } from '../../../contracts/computer-use/members.ts';
import { HandsFault } from '../hands.ts';
import type { Tab } from './tab.ts';

/** Throws `script_failed` with what the page said. A script that does not end is ended with the action. */
export async function runScript(tab: Tab, text: string, signal: AbortSignal): Promise<string> {
  const end = (): void => void tab.cdp.send('Runtime.terminateExecution').catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  try {
    const found = await tab.cdp.send('Runtime.evaluate', {
      expression: text,
      userGesture: true,
      // `let` twice and `await` at the top, as in a console.
      replMode: true,
      awaitPromise: true,
      allowUnsafeEvalBlockedByCSP: true,
    });
    const { result, exceptionDetails } = await settledValue(tab, found);
    if (exceptionDetails !== undefined) {
      const said =
        exceptionDetails.exception?.description ?? exceptionDetails.exception?.value ?? exceptionDetails.text;
      throw new HandsFault('page', 'script_failed', String(said).slice(0, 2000), true);
    }
    const value =
      result.type === 'undefined'
        ? 'undefined'
        : typeof result.value === 'string'
          ? result.value
          : (result.unserializableValue ?? JSON.stringify(result.value, null, 1) ?? result.description ?? 'undefined');
    return value.length > maxReadLength ? `${value.slice(0, maxReadLength - 20)}… (cut off)` : value;
  } catch (error) {
    if (error instanceof HandsFault) throw error;
    // Without its value: it loops, or is of no plain sort.
    throw new HandsFault('page', 'script_failed', (error as Error).message.split('\n')[0]!, true);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

interface Evaluated {
  readonly result: {
    readonly type: string;
    readonly subtype?: string;
    readonly value?: unknown;
    readonly unserializableValue?: string;
    readonly description?: string;
    readonly objectId?: string;
  };
  readonly exceptionDetails?: {
    readonly text: string;
    readonly exception?: { readonly description?: string; readonly value?: unknown };
  };
}

/** What a promise comes to, and what an object holds. */
async function settledValue({ cdp }: Tab, found: Evaluated): Promise<Evaluated> {
  const { objectId, subtype } = found.result;
  if (objectId === undefined || found.exceptionDetails !== undefined) return found;
  try {
    if (subtype === 'promise')
      return await cdp.send('Runtime.awaitPromise', { promiseObjectId: objectId, returnByValue: true });
    return await cdp.send('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: 'function () { return this }',
      returnByValue: true,
    });
  } finally {
    cdp.send('Runtime.releaseObject', { objectId }).catch(() => {});
  }
}
