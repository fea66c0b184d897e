/** Two connections become one: bytes and half-closes pass both ways, each as fast as the other side reads; a fault of one ends both. */
import { type Duplex, pipeline } from 'node:stream';

export function join(one: Duplex, other: Duplex): void {
  passOn(one, other);
  passOn(other, one);
}

/** One way only. */
export function passOn(from: Duplex, to: Duplex): void {
  pipeline(from, to, (fault) => {
    if (fault == null) return;
    from.destroy();
    to.destroy();
  });
}
