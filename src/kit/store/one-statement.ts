/** Operations that call themselves one statement (`isolation: 'statement'`), on both engines. */
import type { Asked, SharedTx } from './shared-store.ts';

/** A second statement is a fault: it would not be in one transaction with the first. */
export function onlyOne<T>(operation: (tx: SharedTx) => Asked<T>): (tx: SharedTx) => Asked<T> {
  return (tx) => {
    let left = 1;
    const once = <A extends unknown[], R>(make: (...args: A) => R) => {
      return (...args: A) => {
        left -= 1;
        if (left < 0) throw new Error('An operation of one statement asked another.');
        return make(...args);
      };
    };
    return operation({
      ...tx,
      run: once(tx.run),
      get: once(tx.get) as SharedTx['get'],
      all: once(tx.all) as SharedTx['all'],
    });
  };
}
