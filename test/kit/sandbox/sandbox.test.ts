/** What a sandbox really holds on this computer, tried from inside. Skipped where bubblewrap does not work: nothing can be held there. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { type Bubblewrap, findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { bubblewrapWords, type Mount, type Sandbox, systemMounts } from '../../../src/kit/sandbox/sandbox.ts';
import { scratchFolder } from '../../support/scratch.ts';

const path = process.env.PATH ?? '';
const everything: Sandbox = {
  mounts: [{ at: '/', shows: 'read' }],
  network: 'host',
  terminal: 'none',
  ends: 'with-parent',
  cwd: '/',
};
const found = await findBubblewrap({ path, sandbox: everything });
const works = typeof found !== 'string';
const bubblewrap = found as Bubblewrap;

const perl = await runProcess({ command: ['perl', '-e', '1'], deadlineMs: 10_000 }).then(
  ({ exitCode }) => exitCode === 0,
  () => false,
);

async function run(sandbox: Sandbox, line: string, env: Record<string, string> = {}) {
  const wrapped = bubblewrap.wrap({ sandbox, command: ['/bin/sh', '-c', line], env: { PATH: path, ...env } });
  return runProcess({ ...wrapped, deadlineMs: 20_000 });
}

describe.skipIf(!works)('in bubblewrap', () => {
  test('an inner folder is shown as it says, in whatever order the folders are named', async () => {
    const outer = scratchFolder();
    mkdirSync(join(outer, 'read/write/hidden'), { recursive: true });
    writeFileSync(join(outer, 'read/write/hidden/file'), 'secret');
    writeFileSync(join(outer, 'read/write/blank'), 'secret');
    const mounts: Mount[] = [
      { at: join(outer, 'read/write/hidden'), shows: 'empty' },
      { at: join(outer, 'read/write/blank'), shows: 'blank' },
      { at: join(outer, 'read/write'), shows: 'write' },
      { at: join(outer, 'read'), shows: 'read' },
      { at: join(outer, 'missing'), shows: 'read', ifThere: true },
    ];
    for (const order of [mounts, mounts.toReversed()]) {
      const { stdout } = await run(
        { ...everything, mounts: [...order, ...everything.mounts], cwd: join(outer, 'read') },
        'ls write/hidden; cat write/blank; touch here 2>/dev/null || echo refused; touch write/here && echo written',
      );
      expect(stdout).toBe('refused\nwritten\n');
    }
  });

  test('of the system it sees the programs, and nothing of a home', async () => {
    const home = scratchFolder();
    writeFileSync(join(home, 'key'), 'secret');
    const sandbox: Sandbox = { ...everything, mounts: [...systemMounts(), { at: '/tmp', shows: 'empty' }] };
    const { stdout } = await run(sandbox, `ls / | tr '\\n' ' '; cat ${home}/key 2>/dev/null || echo unseen`);
    expect(stdout).toContain('usr');
    expect(stdout).not.toMatch(/\b(home|root|var|srv)\b/);
    expect(stdout).toContain('unseen');
  });

  test('variables and filter come through pipes that the program finds closed', async () => {
    const { stdout } = await run(
      everything,
      'echo "[$TOLD]"; for fd in 3 4 5; do [ -e /proc/self/fd/$fd ] || echo closed; done',
      { TOLD: 'it' },
    );
    expect(stdout).toBe('[it]\nclosed\nclosed\nclosed\n');
  });

  test('without a network nothing outside answers, and only loopback is there', async () => {
    const { stdout } = await run({ ...everything, network: 'none' }, 'cut -d: -f1 -s /proc/net/dev | tr -d " "');
    expect(stdout.trim()).toBe('lo');
  });

  describe.skipIf(!perl || process.arch !== 'x64' || !works || bubblewrap.unheld.length > 0)(
    'a probe in perl (x64)',
    () => {
      /** Prints the error's number of each call, or 0. */
      const calls: Readonly<Record<string, string>> = {
        io_uring: '425, 1, 0',
        userfaultfd: '323, 0',
        keyctl: '250, 0, -3, 0',
        add_key: '248, $typed, $typed, $typed, 1, -3',
        'nf_tables socket': '41, 16, 3, 12',
        'route socket': '41, 16, 3, 0',
        TIOCSTI: '16, 0, 0x5412, $typed',
        'TIOCSTI with high bits': '16, 0, 0x700005412, $typed',
        'internet socket': '41, 2, 1, 0',
        'vsock socket': '41, 40, 1, 0',
      };
      const script = [
        'my $typed = "x";',
        ...Object.entries(calls).map(
          ([name, args]) => `$! = 0; $r = syscall(${args}); print "${name}: ", ($r < 0 ? $! + 0 : 0), "\\n";`,
        ),
      ].join('\n');
      const probe = async (sandbox: Sandbox) => {
        const wrapped = bubblewrap.wrap({ sandbox, command: ['perl', '-e', script], env: { PATH: path } });
        const { stdout, stderr } = await runProcess({ ...wrapped, deadlineMs: 20_000 });
        expect(stderr).toBe('');
        return Object.fromEntries(
          stdout
            .trim()
            .split('\n')
            .map((line) => line.split(': ') as [string, string]),
        );
      };

      test('what the kernel was often broken through is refused, and ordinary sockets are not', async () => {
        const held = {
          io_uring: '38',
          userfaultfd: '38',
          keyctl: '1',
          add_key: '1',
          'nf_tables socket': '93',
          'route socket': '0',
          TIOCSTI: '1',
          'TIOCSTI with high bits': '1',
          'internet socket': '0',
        };
        expect(await probe(everything)).toMatchObject(held);
        expect(await probe({ ...everything, network: 'none' })).toEqual({ ...held, 'vsock socket': '97' });
      });

      test('the same probe finds an open way without the filter', async () => {
        const { stdout } = await runProcess({ command: ['perl', '-e', script], deadlineMs: 20_000 });
        expect(stdout).toContain('nf_tables socket: 0\n');
        expect(stdout).not.toContain('TIOCSTI: 1\n');
      });

      test('a network of its own gives no way to nf_tables', async () => {
        const { stdout } = await run(everything, 'unshare -rn nft list ruleset 2>&1; echo $?');
        expect(stdout).not.toMatch(/^0\n/);
      });
    },
  );
});

test.skipIf(!works)('a variable cannot add to the arguments that make the sandbox', () => {
  const env = { A: 'x\0--bind\0/\0/' };
  expect(() => bubblewrap.wrap({ sandbox: everything, command: ['true'], env })).toThrow('NUL');
});

test('where it does not work, half a sentence says why', async () => {
  expect(await findBubblewrap({ path, sandbox: everything, platform: 'darwin' })).toBe(
    'there is no sandbox on this system',
  );
  expect(await findBubblewrap({ path: '/nowhere', sandbox: everything, platform: 'linux' })).toBe(
    'bubblewrap (bwrap) is not installed',
  );
});

/** A bwrap that says this where it gets a filter. */
async function complaining(says: string) {
  const bin = scratchFolder();
  const lines = [
    '#!/bin/sh',
    'case " $* " in *" --seccomp "*)',
    `echo "bwrap: ${says}" >&2; exit 1;;`,
    'esac',
    'exit 0',
  ];
  writeFileSync(join(bin, 'bwrap'), `${lines.join('\n')}\n`, { mode: 0o755 });
  return findBubblewrap({ path: bin, sandbox: everything, platform: 'linux', architecture: 'x64' });
}

test.skipIf(process.platform === 'win32')('only a kernel without filters makes a sandbox without one', async () => {
  expect(await complaining('prctl(PR_SET_SECCOMP): Invalid argument')).toMatchObject({
    unheld: [expect.stringContaining('filters no system calls')],
  });
  expect(await complaining('Creating new namespace failed: Resource temporarily unavailable')).toContain(
    'bubblewrap does not work here (bwrap: Creating new namespace failed',
  );
});

test.skipIf(!works)('what it does not hold on another architecture is said', async () => {
  const other = await findBubblewrap({ path, sandbox: everything, architecture: 'riscv64' });
  expect(other).toMatchObject({ unheld: [expect.stringContaining('riscv64')] });
});

test('every sandbox has its own processes, no privileges and its own /proc and /dev', () => {
  const words = bubblewrapWords(everything).join(' ');
  for (const each of ['--unshare-pid', '--unshare-ipc', '--cap-drop ALL', '--proc /proc', '--dev /dev']) {
    expect(words).toContain(each);
  }
});
