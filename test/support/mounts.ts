import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a container engine that was ended leaves mounted below its folder. */
export function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  for (const mount of mounts.toReversed()) {
    const place = mount.split(' ')[1] ?? '';
    if (place.startsWith(`${folder}/`)) spawnSync('umount', ['--lazy', place]);
  }
}
