// Runs apart: it starts a container engine, and needs an image that takes minutes to build.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDockerDriver } from '../../../src/cloud-api/hosted-computers/docker.ts';
import type { ComputerSpec, OfferingDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { readComputersEngine } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { callOver } from '../../support/computers/dialled.ts';
import { lifeOf, playLife } from '../../support/computers/engine-life.ts';
import { recordEngine, shortened } from '../../support/computers/engine-wire.ts';
import { type DockerSubject, noEngine, openDocker } from './docker-subject.ts';
import { describeDriver } from './suite.ts';

/** The image of `npm run test:docker` has no browser. */
const toolset = process.env.GANTRY_ENGINE_TOOLSET === 'desktop' ? 'desktop' : 'shell';
describeDriver('docker', noEngine(), () => openDocker(toolset));

describe.skipIf(noEngine() !== null)('the driver docker, and what others do with its engine', () => {
  let subject: DockerSubject;
  let driver: OfferingDriver;
  const one = lifeOf.computer;

  beforeAll(async () => {
    subject = await openDocker(toolset);
    driver = subject.connect();
  }, 240_000);
  afterAll(() => subject?.close(), 240_000);

  function another(more: { readonly socket?: string; readonly image?: string; readonly folder?: string } = {}) {
    const { socket = subject.socket, image = 'gantry-computer', folder = mkdtempSync(join(tmpdir(), 'gdo-')) } = more;
    if (more.folder === undefined) onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const settings = readComputersEngine({ GANTRY_COMPUTERS_ENGINE: socket, GANTRY_COMPUTERS_IMAGE: image })!;
    return createDockerDriver({
      settings,
      folder,
      cloudHost: null,
      clock: systemClock,
      timers: systemTimers,
      log: { warn() {} },
    });
  }
  /** Made here from the image of computers, with these lines of a Dockerfile. */
  function imageWith(name: string, ...lines: string[]): string {
    const place = mkdtempSync(join(tmpdir(), 'gdi-'));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    writeFileSync(join(place, 'Dockerfile'), lines.join('\n'));
    subject.docker('build', '-q', '-t', name, place);
    return name;
  }
  const refusalOf = async (work: Promise<unknown>) =>
    work.then(
      () => null,
      (fault: { code: string; message: string }) => `${fault.code}: ${fault.message}`,
    );

  test('a life of a computer is what npm test replays', async () => {
    const socket = join(subject.folder, '..', 'recorded.sock');
    const recorder = await recordEngine(subject.socket, socket);
    const recorded = another({ socket, folder: subject.folder });
    const lived = await playLife(recorded, (changes) => expect.poll(() => changes.at(-1)?.state).toBe('gone'));
    recorder.close();
    await expect.poll(() => recorder.exchanges.some(({ path }) => path.startsWith('/events'))).toBe(true);
    const file = new URL('../../data/docker/life.json', import.meta.url);
    const installation = readFileSync(join(subject.folder, 'installation'), 'utf8');
    const exchanges = shortened(recorder.exchanges);
    if (process.env.GANTRY_RECORD_ENGINE)
      writeFileSync(file, `${JSON.stringify({ installation, exchanges }, null, 1)}\n`);
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { readonly exchanges: typeof exchanges };
    const answers = (all: typeof exchanges) =>
      new Set(
        all.map(({ method, path, status }) => `${method} ${path.replace(/\?.*|[0-9a-f]{12,64}/g, '')} ${status}`),
      );
    expect(answers(exchanges)).toEqual(answers(kept.exchanges));
    expect(lived.changes.map(({ state }) => state)).toEqual([
      ...['starting', 'running', 'sleeping', 'running', 'stopped', 'gone'],
    ]);
  });

  test('an image that is not there, is no computer’s, or has nothing that runs is refused by its name', async () => {
    imageWith('strange', 'FROM gantry-computer AS a', 'FROM scratch', 'COPY --from=a /etc/hostname /');
    imageWith(
      'shellless',
      'FROM gantry-computer AS a',
      'FROM scratch',
      'COPY --from=a /etc/hostname /',
      'LABEL gantry.computer-image=1',
      'CMD ["/bin/bash"]',
    );
    expect(await refusalOf(driver.create({ ...lifeOf, image: 'nothing:here' }))).toMatch(
      /^unsupported: .* has no image nothing:here: build it, or pull it\.$/,
    );
    expect(await refusalOf(driver.create({ ...lifeOf, image: 'strange' }))).toMatch(
      /^unsupported: The image strange is not made on top of gantry-computer/,
    );
    await driver.create({ ...lifeOf, image: 'shellless' });
    expect(await refusalOf(driver.start(one))).toMatch(
      /^unsupported: The image shellless cannot start a computer\. The container engine answered: .*\/bin\/bash/,
    );
    await driver.delete(one);
    // Whatever it begins with itself, its network is restricted first.
    imageWith('own-beginning', 'FROM gantry-computer', 'USER 61000', 'ENTRYPOINT ["/bin/sleep", "1000"]');
    await driver.create({ ...lifeOf, image: 'own-beginning' });
    expect(await driver.start(one)).toMatchObject({ state: 'running' });
    await driver.delete(one);
    expect(subject.remains()).toEqual([]);
  });

  test('every hour each computer is tried from inside; one whose network is open is stopped, and none is made until then', {
    timeout: 240_000,
  }, async () => {
    const due: (() => void)[] = [];
    const timers: Timers = {
      ...systemTimers,
      after(ms, work) {
        if (ms < 60_000) return systemTimers.after(ms, work);
        due.push(work);
        return () => {};
      },
    };
    const warnings: string[] = [];
    const warn = (message: string, facts?: object) => void warnings.push(`${message} ${JSON.stringify(facts)}`);
    const settings = readComputersEngine({ GANTRY_COMPUTERS_ENGINE: subject.socket })!;
    const { folder } = subject;
    const tried = createDockerDriver({ settings, folder, cloudHost: null, clock: systemClock, timers, log: { warn } });
    onTestFinished(() => tried.close());
    const two = 'cmp_000000000044';
    for (const computer of [one, two]) {
      await tried.create({ ...lifeOf, computer, key: computer });
      await tried.start(computer);
    }
    const hour = async () => {
      const [work] = due.splice(0);
      work!();
      await expect.poll(() => due.length, { timeout: 60_000 }).toBe(1);
    };
    const stateNow = async (computer: string) => (await tried.inspect(computer))?.state;
    await hour();
    expect([await stateNow(one), await stateNow(two), warnings]).toEqual(['running', 'running', []]);
    const pid = subject.docker(
      'inspect',
      '--format',
      '{{.State.Pid}}',
      subject.docker('ps', '-q', '-f', `name=${two}`),
    );
    execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, 'nft', 'flush', 'ruleset']);
    await hour();
    expect([await stateNow(one), await stateNow(two)]).toEqual(['running', 'stopped']);
    const why = new RegExp(`^From inside of ${two}, \\S+ answered with ".+": its network is no longer restricted`);
    expect((await tried.capabilities()).refused).toMatch(why);
    await expect(tried.create({ ...lifeOf, computer: 'cmp_000000000045', key: 'x' })).rejects.toThrow(why);
    // What failed is gone, and what runs is proven again.
    await hour();
    expect((await tried.capabilities()).refused).toBe(null);
    for (const computer of [one, two]) await tried.delete(computer);
  });

  test('a computer whose network cannot be restricted, or not proven to be, does not start', async () => {
    imageWith('unable', 'FROM gantry-computer', 'RUN rm $(readlink -f $(which nft))');
    // It says yes and does nothing, but for the list that is read back.
    const pretends = `printf '#!/bin/sh\\necho {\\\\"nftables\\\\":[]}\\n' > $(readlink -f $(which nft))`;
    imageWith('pretending', 'FROM gantry-computer', `RUN ${pretends}`);
    for (const image of ['unable', 'pretending']) {
      await driver.create({ ...lifeOf, image });
      expect(await refusalOf(driver.start(one))).toMatch(
        /^failed: It ended while starting \(code 1\)\. The computer's network could not be restricted to public addresses: /,
      );
      await driver.delete(one);
    }
  });

  test('two clouds on one engine do not see each other’s computers, and delete none of them', async () => {
    const other = another();
    await driver.create(lifeOf);
    expect([await other.list(), await other.inspect(one)]).toEqual([[], null]);
    await other.delete(one);
    await other.create({ ...lifeOf, key: 'of the other' });
    expect((await driver.list()).map(({ computer }) => computer)).toEqual([one]);
    await other.delete(one);
    expect(await driver.inspect(one)).toMatchObject({ state: 'stopped' });
    await driver.delete(one);
  });

  test('a stranger’s container with the name of a computer is neither used nor removed', async () => {
    const name = `gantry-${readFileSync(join(subject.folder, 'installation'), 'utf8')}-${one}`;
    subject.docker('create', '--name', name, 'gantry-computer');
    expect(await refusalOf(driver.create(lifeOf))).toBe(
      `exists: The container engine has another container with the name ${name}.`,
    );
    await driver.delete(one);
    expect(subject.docker('ps', '-aq', '--filter', `name=${name}`)).not.toBe('');
    subject.docker('rm', '-v', name);
  });

  test('a container that a person deletes is told as gone, and its folder goes with a delete', async () => {
    const gone: string[] = [];
    onTestFinished(driver.watch(null, { changed: ({ state }) => gone.push(state), missed() {} }));
    await driver.create(lifeOf);
    await driver.start(one);
    subject.docker('rm', '-f', '-v', subject.docker('ps', '-aq', '--filter', `label=gantry.computer=${one}`));
    await expect.poll(() => gone.at(-1)).toBe('gone');
    expect(await driver.inspect(one)).toBe(null);
    expect(existsSync(join(subject.folder, one))).toBe(true);
    await driver.delete(one);
    expect(subject.remains()).toEqual([]);
  });

  test('a computer that sleeps does not outlive its lifetime', async () => {
    await driver.create({ ...lifeOf, lifetime: 3_000 });
    await driver.start(one);
    await driver.sleep(one);
    await expect
      .poll(async () => await driver.inspect(one))
      .toMatchObject({ state: 'stopped', why: 'Its lifetime of 3 s is over.' });
    await driver.delete(one);
  });

  test.skipIf(toolset !== 'desktop')(
    'a desktop in a container has a browser, with the browser’s own sandbox',
    async () => {
      await driver.create({ ...lifeOf, toolset: 'desktop', limits: { memory: null, processes: null } });
      await driver.start(one);
      const { status, body } = await callOver(
        one,
        (dial) => driver.offer(one, dial),
        (link) => link.drive('browser', 'navigate', { url: 'about:blank' }),
      );
      expect([status, body.is_error, body.content]).toEqual([200, false, expect.anything()]);
      const id = subject.docker('ps', '-q', '--filter', `label=gantry.computer=${one}`);
      const words = subject.docker(
        'exec',
        '-u',
        '61000:61000',
        id,
        'sh',
        '-c',
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
      );
      expect(words).toContain('--type=renderer');
      expect(words).not.toContain('--no-sandbox');
      await driver.delete(one);
    },
  );

  test('nothing in a computer has a right, and its user cannot look into the folder of its socket', async () => {
    await driver.create(lifeOf);
    await driver.start(one);
    const id = subject.docker('ps', '-q', '--filter', `label=gantry.computer=${one}`);
    const inside = (...words: string[]) => subject.docker('exec', '-u', '61000:61000', id, ...words);
    const ofUser = `for one in /proc/[0-9]*; do grep -q '^Uid:.61000.61000.61000.61000' $one/status && cat $one/status; done`;
    const rights = inside('bash', '-c', ofUser).match(/^(?:Cap(?:Inh|Prm|Eff|Amb)|NoNewPrivs):\s\w+$/gm) ?? [];
    // At least the computer's program, and those that ask.
    expect(rights.length).toBeGreaterThan(5);
    expect(rights.filter((line) => !/^Cap\w+:\s0+$|^NoNewPrivs:\s1$/.test(line))).toEqual([]);
    // Also the first process, which stays root, can no longer change the network.
    expect(Number.parseInt(/^CapBnd:\s(\w+)$/m.exec(inside('cat', '/proc/1/status'))![1]!, 16) & (1 << 12)).toBe(0);
    expect(() => inside('ls', '/run/gantry')).toThrow(/Permission denied/);
    expect(() => inside('touch', '/usr/new')).toThrow(/Read-only/);
    await driver.delete(one);
  });
});

describe.skipIf(noEngine() !== null)('computers in containers that are kept warm', () => {
  let subject: DockerSubject;
  const opened: OfferingDriver[] = [];
  const env = { GANTRY_COMPUTERS_WARM_SHELL: '1' };
  const spec: ComputerSpec = { ...lifeOf, limits: { memory: null, processes: null }, lifetime: null };
  const cloud = (more: Readonly<Record<string, string>> = env) => {
    const driver = subject.connect(more);
    opened.push(driver);
    return driver;
  };
  const warmOf = async (driver: OfferingDriver) => (await driver.capabilities()).warm;
  const readyOf = (driver: OfferingDriver, shell: number) =>
    expect.poll(() => warmOf(driver), { timeout: 120_000 }).toEqual({ desktop: 0, shell });
  const containers = () => subject.docker('ps', '-aq').split('\n').filter(Boolean);
  const run = async (driver: OfferingDriver, computer: string, command: string) => {
    const { body } = await callOver(
      computer,
      (dial) => driver.offer(computer, dial),
      (linked) => linked.drive('shell', 'exec', { command, shell: true }),
    );
    return body.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  };

  beforeAll(async () => {
    subject = await openDocker('shell');
  }, 240_000);
  afterEach(async () => {
    for (const driver of opened.splice(0)) driver.close();
    const last = subject.connect();
    for (const { computer } of await last.list()) await last.delete(computer);
    // With none wanted, those that wait go.
    await expect.poll(containers, { timeout: 60_000 }).toEqual([]);
    last.close();
  }, 240_000);
  afterAll(() => subject?.close(), 240_000);

  test('a create gets one that runs, which keeps its files over a stop and goes with everything; what it does not fit is made anew', {
    timeout: 240_000,
  }, async () => {
    const driver = cloud();
    await readyOf(driver, 1);
    const heard: string[] = [];
    onTestFinished(
      driver.watch(null, { changed: ({ computer, state }) => heard.push(`${computer} ${state}`), missed() {} }),
    );
    expect(await driver.list()).toEqual([]);
    const [waiting] = containers();
    const made = await driver.create(spec);
    expect(made).toMatchObject({ computer: spec.computer, state: 'running' });
    expect(subject.docker('inspect', '--format', '{{.Id}}', waiting!)).toMatch(
      subject.docker('ps', '-aq', '--no-trunc', '--filter', `name=${spec.computer}`),
    );
    expect(await driver.create(spec)).toEqual(made);
    expect(await driver.start(spec.computer)).toEqual(made);
    await expect(driver.create({ ...spec, key: 'another' })).rejects.toMatchObject({ code: 'exists' });
    await expect.poll(() => heard).toEqual([`${spec.computer} running`]);
    await run(driver, spec.computer, 'echo kept > kept');
    await driver.stop(spec.computer);
    await driver.start(spec.computer);
    expect(await run(driver, spec.computer, 'cat kept')).toBe('kept\n');
    await readyOf(driver, 1);
    const limits = { memory: 512, processes: null };
    const other = { ...spec, computer: 'cmp_000000000043', key: 'other', limits };
    expect(await driver.create(other)).toMatchObject({ state: 'stopped' });
    expect(await warmOf(driver)).toEqual({ desktop: 0, shell: 1 });
    await driver.delete(spec.computer);
    await driver.delete(other.computer);
    const left = readdirSync(subject.folder).filter((name) => name !== 'installation');
    expect(left).toEqual([expect.stringMatching(/^warm_/)]);
  });

  test('those that wait outlive their cloud, and of several clouds at once each gets another one, or makes its own', {
    timeout: 240_000,
  }, async () => {
    const first = cloud({ GANTRY_COMPUTERS_WARM_SHELL: '2' });
    await readyOf(first, 2);
    const before = containers();
    first.close();
    const replicas = [1, 2, 3].map(() => cloud({ GANTRY_COMPUTERS_WARM_SHELL: '2' }));
    const states = await Promise.all(
      replicas.map((driver, index) => driver.create({ ...spec, computer: `cmp_00000000005${index}`, key: `${index}` })),
    );
    expect(states.map(({ state }) => state).sort()).toEqual(['running', 'running', 'stopped']);
    const taken = subject.docker('ps', '-q', '--filter', 'name=cmp_').split('\n');
    expect(before.sort()).toEqual(taken.sort());
  });

  test('one that was made of another image or with other limits is not handed over, and gives way', {
    timeout: 240_000,
  }, async () => {
    const first = cloud();
    await readyOf(first, 1);
    const [old] = containers();
    first.close();
    const driver = cloud({ ...env, GANTRY_COMPUTERS_MEMORY: '600' });
    expect(await driver.create(spec)).toMatchObject({ state: 'stopped' });
    await readyOf(driver, 1);
    expect(containers()).not.toContain(old);
  });
});
