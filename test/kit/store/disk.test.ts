// Runs apart: it fills a disk, as small as the test makes it.
/** A disk that is full, limited or broken: nothing acknowledged is lost, the reason is said, and writing goes on by itself. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../support/scratch.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

const writer = new URL('../../support/victims/disk-writer.ts', import.meta.url).pathname;
const can = (...command: [string, ...string[]]) => spawnSync(command[0], command.slice(1)).status === 0;

const canMount = can('unshare', '-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt');
const canLimit = can('prlimit', '--version');
const canInject = can('strace', '-qq', '-o', '/dev/null', '-e', 'inject=fsync:error=EIO', 'true');

const acknowledged = (victim: Victim) =>
  victim.lines.filter((line) => line.startsWith('ack ')).map((line) => Number(line.slice(4)));

function rows(file: string): { rows: number[]; sound: unknown } {
  const database = new Database(file);
  const found = database.prepare('SELECT n FROM entry ORDER BY n').pluck().all() as number[];
  const sound = database.pragma('integrity_check', { simple: true });
  database.close();
  return { rows: found, sound };
}

test.skipIf(!canMount)(
  'a full disk is said, reads go on, and writing goes on once there is space (needs mount namespaces)',
  async () => {
    const folder = scratchFolder();
    const copy = join(folder, 'copy');
    const mounted = join(folder, 'disk');
    mkdirSync(mounted);
    const script = `mount -t tmpfs -o size=12m tmpfs ${mounted} && dd if=/dev/zero of=${mounted}/ballast bs=1M count=8 2>/dev/null &&
    ${process.execPath} ${writer} ${mounted} && cp -r ${mounted} ${copy}`;
    const victim = startVictim({ command: ['unshare', '-rm', 'sh', '-c', script] });
    const refused = await victim.until((line) => line.startsWith('refused'));
    expect(refused).toBe(`refused The disk that holds ${mounted}/x.db is full.`);
    victim.child.stdin?.write('free\n');
    await victim.until((line) => line === 'done');
    expect((await victim.ended).code).toBe(0);
    expect(victim.lines).toContain('recovered');
    expect(rows(join(copy, 'x.db'))).toEqual({ rows: acknowledged(victim), sound: 'ok' });
  },
);

test.skipIf(!canLimit)(
  'a file that may not grow is said, and writing goes on once it may (needs prlimit)',
  async () => {
    const folder = scratchFolder();
    const victim = startVictim({ command: ['prlimit', '--fsize=2000000:unlimited', process.execPath, writer, folder] });
    const refused = await victim.until((line) => line.startsWith('refused'));
    expect(refused).toMatch(/^refused The disk refused to write .*x\.db \(SQLITE_IOERR_WRITE\)\.$/);
    spawnSync('prlimit', [`--pid=${victim.pid}`, '--fsize=unlimited:unlimited']);
    await victim.until((line) => line === 'done');
    await victim.ended;
    expect(rows(join(folder, 'x.db'))).toEqual({ rows: acknowledged(victim), sound: 'ok' });
  },
);

test.skipIf(!canInject).each([1, 4, 15])(
  'when flushing fails for a while after %s good commits, every acknowledged row stays (needs strace)',
  async (good) => {
    const folder = scratchFolder();
    // The first flushes belong to opening; after them each commit flushes the log once.
    const first = 30 + good;
    const inject = `inject=fdatasync,fsync:error=EIO:when=${first}..${first + 2}`;
    const victim = startVictim({
      command: [
        'strace',
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-e',
        'trace=fdatasync,fsync',
        '-e',
        inject,
        process.execPath,
        writer,
        folder,
      ],
    });
    const refused = await victim.until((line) => line.startsWith('refused'));
    expect(refused).toContain('SQLITE_IOERR_FSYNC');
    await victim.until((line) => line === 'done');
    await victim.ended;
    const kept = rows(join(folder, 'x.db'));
    expect(kept.sound).toBe('ok');
    expect(kept.rows).toEqual(acknowledged(victim));
  },
);
