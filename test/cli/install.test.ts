/** `gantry install`: files that the systems themselves accept, and a start from a bare environment that has its teams again. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { XMLParser } from 'fast-xml-parser';
import { expect, test } from 'vitest';
import { lastingPath, serviceHere } from '../../src/cli/install/service.ts';
import { launchdPlist, type Program, systemdUnit, windowsTask } from '../../src/cli/install/units.ts';
import { scratchFolder } from '../support/scratch.ts';
import { onEnd, run } from './support.ts';

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0;
const linux = process.platform === 'linux';

/** Every character that one of the three forms means something by. */
function oddProgram(): Program {
  const folder = join(scratchFolder(), 'a b %n $HOME "q" \\ & <c>');
  mkdirSync(folder, { recursive: true });
  const node = join(folder, 'node');
  writeFileSync(node, '#!/bin/sh\nprintf "%s\\n" "$@" >"$OUT"\n', { mode: 0o755 });
  return {
    command: [node, join(folder, 'gantry.mjs'), 'start', '--service', folder],
    variables: { PATH: `/usr/bin:/bin:${folder}` },
    logs: folder,
    docs: '/usr/share/doc/gantry/operating.md',
  };
}

test.skipIf(!canVerify)(
  'systemd finds nothing wrong with the unit, whatever stands in its paths (needs systemd)',
  () => {
    const folder = scratchFolder();
    const verify = (text: string) => {
      const file = join(folder, 'gantry.service');
      writeFileSync(file, text);
      const env = { ...process.env, XDG_RUNTIME_DIR: folder };
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', file], {
        env,
        encoding: 'utf8',
      });
      return { status, said: stdout + stderr };
    };
    const { text } = systemdUnit('gantry', folder, oddProgram());
    expect(verify(text)).toEqual({ status: 0, said: '' });
    // That it would find something.
    expect(verify(text.replace('KillMode=process', 'KillMode=proces')).said).toContain('kill mode');
  },
);

test('bots outlive the service, and what a person has to decide is not tried again', () => {
  const { text } = systemdUnit('gantry', '/units', oddProgram());
  expect(text).toContain('\nKillMode=process\n');
  expect(text).toContain('\nRestartPreventExitStatus=1 2 5 64\n');
  expect(text).toContain('\nWatchdogSec=20\nNotifyAccess=all\n');
  const plist = launchdPlist('gantry', '/agents', oddProgram()).text;
  expect(plist).toContain('<key>AbandonProcessGroup</key><true/>');
  expect(plist).not.toContain('SuccessfulExit');
});

test('the files of macOS and Windows are well-formed and hold the words as they are', () => {
  const program = oddProgram();
  const parse = (text: string) => new XMLParser({ ignoreAttributes: true, trimValues: false }).parse(text);
  const plist = parse(launchdPlist('gantry', '/agents', program).text);
  expect(plist.plist.dict.array.string).toEqual(program.command);
  const task = parse(windowsTask('gantry', '/home', program, 'STUDIO\\ada').text);
  const [node, script] = program.command;
  expect(task.Task.Actions.Exec.Arguments).toContain(`--headless "${node}" "${script}" start --service`);
  expect(task.Task.Triggers.LogonTrigger.UserId).toBe('STUDIO\\ada');
});

test('another data folder has a service of its own; folders of npm and of bots are no part of its path', () => {
  const home = scratchFolder();
  const usual = serviceHere({ HOME: home, PATH: '/bin', GANTRY_HOME: join(home, '.gantry') }, 'linux').unit;
  const other = serviceHere({ HOME: home, PATH: '/bin', GANTRY_HOME: join(home, 'two') }, 'linux').unit;
  expect(usual.file).toBe(join(home, '.config', 'systemd', 'user', 'gantry.service'));
  expect(other.name).toMatch(/^gantry-[0-9a-f]{8}\.service$/);
  const path = ['/a', '/x/node_modules/.bin', '/h/run/bots/agent_1/bin', '/a', '/b'].join(delimiter);
  expect(lastingPath(path)).toBe(['/a', '/b'].join(delimiter));
});

/** A person's place with a systemctl that notes what it is told and obeys unless told otherwise. */
function person(systemctl = 'exit 0') {
  const home = scratchFolder();
  const bin = join(home, 'bin');
  const told = join(home, 'told');
  mkdirSync(bin);
  writeFileSync(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >>"${told}"\n${systemctl}\n`, { mode: 0o755 });
  const env = { HOME: home, PATH: `${bin}:/usr/bin:/bin`, GANTRY_HOME: join(home, '.gantry') };
  const unit = join(home, '.config', 'systemd', 'user', 'gantry.service');
  return { env, unit, told: () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []) };
}

test.skipIf(!linux)('install writes one file and tells systemd; uninstall takes both back (needs Linux)', async () => {
  const { env, unit, told } = person();
  const plan = await run(env, ['install', '--dry-run']);
  expect(plan).toMatchObject({ code: 0 });
  expect(existsSync(unit)).toBe(false);
  expect(told()).toEqual([]);
  const done = await run(env, ['install']);
  expect(done.code).toBe(0);
  expect(plan.out).toContain(readFileSync(unit, 'utf8'));
  expect(told().slice(1)).toEqual([
    '--user daemon-reload',
    '--user enable gantry.service',
    '--user start gantry.service',
  ]);
  const variables = join(env.GANTRY_HOME, 'service.env');
  expect(statSync(variables).mode & 0o777).toBe(0o600);
  writeFileSync(variables, 'KEY=mine\n');
  expect((await run(env, ['install'])).code).toBe(0);
  expect(readFileSync(variables, 'utf8')).toBe('KEY=mine\n');
  expect((await run(env, ['install', '--status', '--json'])).json()).toMatchObject({ state: 'ok' });
  writeFileSync(unit, readFileSync(unit, 'utf8').replace('start --service', 'start --other'));
  expect((await run(env, ['install', '--status', '--json'])).json()).toMatchObject({ state: 'warn' });
  expect((await run(env, ['install', '--uninstall'])).code).toBe(0);
  expect(existsSync(unit)).toBe(false);
  expect((await run(env, ['install', '--status', '--json'])).json()).toMatchObject({ state: 'missing' });
  expect((await run(env, ['install', '--uninstall'])).code).toBe(2);
});

test.skipIf(!linux)('where systemd does not answer or refuses, nothing is installed (needs Linux)', async () => {
  const silent = person('echo "no bus" >&2; exit 1');
  const asked = await run(silent.env, ['install']);
  expect(asked.code).toBe(3);
  expect(asked.err).toContain('systemd does not answer here (no bus), so nothing was installed.');
  expect(existsSync(silent.unit)).toBe(false);
  const refusing = person('case "$*" in *enable*) echo "masked" >&2; exit 1;; esac');
  const tried = await run(refusing.env, ['install']);
  expect(tried.code).toBe(3);
  expect(tried.err).toContain('failed: masked');
  expect(existsSync(refusing.unit)).toBe(false);
});

/** What systemd would run, as it would: the words of the unit, its variables, nothing else. */
function startAsUnit(unit: string) {
  const text = readFileSync(unit, 'utf8');
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] as string;
  const child = spawn('sh', ['-c', `exec ${line}`], { env: { HOME: '/nonexistent', PATH: '/usr/bin:/bin' }, cwd: '/' });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (said += data.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  onEnd(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return {
    pid: child.pid as number,
    ended,
    async until(pattern: RegExp): Promise<void> {
      while (!pattern.test(said)) {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${said}`);
        await sleep(50);
      }
    },
    said: () => said,
  };
}

/** The power fails: nothing of this data folder runs any more. */
function killAll(home: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(home)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // Gone meanwhile.
    }
  }
}

test.skipIf(!linux)(
  'after a reboot the service has the teams again that were up, from a bare environment (needs Linux)',
  async () => {
    const { env, unit } = person();
    const home = env.GANTRY_HOME;
    expect((await run(env, ['install'])).code).toBe(0);
    writeFileSync(join(home, 'service.env'), 'FROM_SERVICE_ENV=here\n', { mode: 0o600 });
    writeFileSync(join(home, 'settings.json'), '{"port": 0, "enginePort": 0, "peerPort": 0}');
    onEnd(() => killAll(home));
    const first = startAsUnit(unit);
    await first.until(/Gantry is ready/);
    // A journal is no place for a code that lets one in.
    expect(first.said()).not.toContain('/open?t=');
    expect((await run(env, ['teams', 'up', 'demo'])).code).toBe(0);
    killAll(home);
    await first.ended;
    const second = startAsUnit(unit);
    await second.until(/Gantry is ready/);
    // Those whose host is gone come back by themselves, those that ended with the power by their team.
    const live = async () => {
      const { agents } = (await run(env, ['agents', 'ls', '--json'])).json() as { agents: { state: string }[] };
      return agents.filter((bot) => bot.state === 'idle').length;
    };
    await expect.poll(live).toBe(3);
    await run(env, ['orchestration', 'send', 'tester@demo', '--raw', 'echo "<$FROM_SERVICE_ENV>"']);
    let shown = '';
    while (!shown.includes('<here>')) {
      await sleep(100);
      shown = (await run(env, ['agents', 'capture', 'tester@demo'])).out;
    }
    killAll(home);
    await second.ended;
    const off = '{"port": 0, "enginePort": 0, "peerPort": 0, "panes": {"restartBots": false}}';
    writeFileSync(join(home, 'settings.json'), off);
    const third = startAsUnit(unit);
    await third.until(/Gantry is ready/);
    expect(await live()).toBe(0);
    expect(third.said()).not.toContain('demo');
  },
  90_000,
);
