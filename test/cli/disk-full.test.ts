// Runs apart: it fills a disk, as small as the test makes it.
/** A disk that runs full under a Gantry at work: every surface says so, nothing acknowledged is lost, and it goes on by itself. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder } from '../support/scratch.ts';

const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;

/** Words that a step prints, by its name. */
const script = `
mount -t tmpfs -o size=24m tmpfs "$DISK" || exit 9
g() { "$NODE" "$CLI" "$@"; }
step() { echo "@@ $1"; shift; "$@" 2>&1; echo "@code $?"; }
g start --headless --port 0 --engine-port 0 --json >"$DISK/started" &
while ! grep -q engine "$DISK/started"; do sleep 0.1; done
engine=$(sed 's/.*"engine":"\\([^"]*\\)".*/\\1/' "$DISK/started")
g teams up demo >/dev/null
step before g ledger verify --json
dd if=/dev/zero of="$DISK/ballast" bs=4k 2>/dev/null
step send g orchestration send tester@demo "echo lost" --json
step read g agents ls --json
step health curl -s -w '\\n' "$engine/api/factory/health"
step doctor g doctor --json
step backup g backup "$DISK/b.tar.gz" --json
step open g open --no-open --json
rm "$DISK/ballast"
until g doctor --json | grep -q 'can be written'; do sleep 0.5; done
step again g orchestration send tester@demo "echo kept" --json
step after g ledger verify --json
g stop --all >/dev/null
dd if=/dev/zero of="$DISK/ballast" bs=4k 2>/dev/null
step start g start --headless --port 0 --engine-port 0 --json
`;

test.skipIf(!canMount)(
  'a full disk is said by each command, and writing goes on once there is space (needs mount namespaces)',
  async () => {
    const disk = scratchFolder();
    const child = spawn('unshare', ['-rm', 'sh', '-c', script], {
      env: { ...process.env, NODE: process.execPath, CLI: cli, DISK: disk, GANTRY_HOME: join(disk, 'home') },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    // A step that never ends would hold the output of this run open.
    onTestFinished(() => {
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
    });
    let out = '';
    child.stdout.on('data', (data: Buffer) => {
      out += data.toString();
    });
    // Not `exit`: what it said last may still be on its way then.
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
    const steps = Object.fromEntries(
      out
        .split('@@ ')
        .slice(1)
        .map((text) => {
          const [name = '', ...rest] = text.split('\n');
          const code = Number(/@code (\d+)/.exec(text)?.[1]);
          return [name, { code, said: JSON.parse(rest[0] as string) }];
        }),
    );
    const full = { error: { code: 'transport', fact: expect.stringContaining('is full'), action: expect.any(String) } };
    expect(steps.send).toEqual({ code: 3, said: full });
    expect(steps.open).toMatchObject({ code: 3, said: { error: { fact: expect.stringContaining('is full') } } });
    expect(steps.backup).toMatchObject({
      code: 3,
      said: { error: { fact: expect.stringContaining('too full for a copy') } },
    });
    expect(steps.start).toEqual({ code: 3, said: full });
    // What only reads goes on.
    expect(steps.read?.code).toBe(0);
    expect(steps.read?.said.agents).toHaveLength(3);
    expect(steps.health?.said).toMatchObject({ ok: false });
    const database = steps.doctor?.said.checks.find((check: { name: string }) => check.name === 'Database');
    expect(database).toMatchObject({ state: 'warn', detail: expect.stringContaining('is full') });
    expect(steps.again?.said).toMatchObject({ state: 'verified' });
    expect(steps.after?.said.ok).toBe(true);
    expect(steps.after?.said.rows).toBeGreaterThan(steps.before?.said.rows);
  },
  120_000,
);
