/** Files that Gantry writes are whole or as they were. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../support/scratch.ts';
import { startVictim } from '../../support/victim.ts';

const writer = new URL('../../support/victims/file-writer.ts', import.meta.url).pathname;
const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;

test.skipIf(!canMount)(
  'where the disk takes only a part of a file, the one before stays whole and nothing is left beside it (needs mount namespaces)',
  async () => {
    const mounted = join(scratchFolder(), 'disk');
    mkdirSync(mounted);
    const script = `mount -t tmpfs -o size=4m tmpfs ${mounted} && ${process.execPath} ${writer} ${mounted}`;
    const victim = startVictim({ command: ['unshare', '-rm', 'sh', '-c', script] });
    expect((await victim.ended).code).toBe(0);
    const [within, secret, config] = victim.lines;
    expect(within).toBe('within refused as before within');
    expect(secret).toBe('private refused as before private');
    expect(config).toMatch(/^config as before The upstream of main could not be set to origin\/main: .*ENOSPC/);
  },
);
