/** The driver `namespace` on its engine: the computer host as people run it, in a world of its own. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createNamespaceDriver } from '../../../src/cloud-api/hosted-computers/namespace.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createNetwork } from '../../../src/programs/computer-host/network.ts';
import { inside } from '../../../src/programs/computer-host/room.ts';
import { defaultSettings, namesFor } from '../../../src/programs/computer-host/settings.ts';
import { clearAway, helperFolder, kept, leftovers, startHelper } from '../../support/computers/helper.ts';
import { createWorld } from '../../support/computers/world.ts';
import type { Attempts, Came, DriverSubject } from './subject.ts';

const probe = fileURLToPath(new URL('../../support/computers/probe.ts', import.meta.url));

export async function openNamespace(): Promise<DriverSubject & { readonly folder: string }> {
  const folder = helperFolder();
  const names = namesFor(folder);
  const around = await createWorld();
  let helper = await startHelper({ world: around, folder });

  const slotOf = (computer: string) => (kept(folder, `computers/${computer}/computer.json`) as { slot: number }).slot;
  const groupFile = (computer: string, ...files: string[]) => {
    const words = files.flatMap((file, index) => [
      ...(index === 0 ? [] : ['-o']),
      '-path',
      `*/${names.group}/${slotOf(computer)}/${file}`,
    ]);
    const [found = ''] = spawnSync('find', ['/sys/fs/cgroup', ...words], { encoding: 'utf8' }).stdout.split('\n');
    return readFileSync(found, 'utf8').trim();
  };
  function tried(before: readonly string[], attempts: Attempts): Came {
    const words = [...before.slice(1), process.execPath, probe, JSON.stringify(Object.values(attempts))];
    const { stdout, stderr } = spawnSync(before[0]!, words, { encoding: 'utf8' });
    if (stdout === '') throw new Error(stderr);
    const results = JSON.parse(stdout) as string[];
    return Object.fromEntries(Object.keys(attempts).map((name, index) => [name, results[index] as string]));
  }

  return {
    folder,
    toolset: 'desktop',
    promises: {
      egress: 'enforced',
      wall: 'namespace',
      sleep: 'memory',
      limits: (await helper.ask('capabilities')).limits,
      images: false,
      warm: null,
    },
    connect: () => createNamespaceDriver({ folder, timers: systemTimers }),
    async kill() {
      await helper.kill();
      helper = await startHelper({ world: around, folder });
    },
    crash(computer) {
      for (const pid of groupFile(computer, 'cgroup.procs').split('\n').filter(Boolean)) {
        spawnSync('kill', ['-9', pid]);
      }
    },
    limitsOf: (computer) => ({
      memory: Number(groupFile(computer, 'memory.max', 'memory.limit_in_bytes')) / 1024 / 1024,
      processes: Number(groupFile(computer, 'pids.max')),
    }),
    probe(computer, attempts) {
      const slot = slotOf(computer);
      const uid = String(defaultSettings.firstUid + slot);
      const user = ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--no-new-privs'];
      return tried(['nsenter', `--net=/run/netns/${names.namespaceOf(slot)}`, '--', ...user], attempts);
    },
    inside(computer, [program, ...words]) {
      const uid = String(defaultSettings.firstUid + slotOf(computer));
      const user = ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--no-new-privs'];
      // Its own program: the first processes made the namespaces, and a browser makes more.
      const isProgram = (pid: string) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(inside.node);
      const pid = groupFile(computer, 'cgroup.procs')
        .split('\n')
        .find((each) => each !== '' && isProgram(each))!;
      const enter = ['--target', pid, '--mount', '--pid', '--net', '--', ...user];
      const command = [program === 'node' ? inside.node : program!, ...words];
      const { stdout, stderr, status } = spawnSync('nsenter', [...enter, ...command], { encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
      return stdout.trim();
    },
    probeFreely: (attempts) => tried(around.on('machine'), attempts),
    async addressOf(computer) {
      const ranges = kept(folder, 'machine.json') as { subnet4: string; subnet6: string };
      const tool = () => Promise.resolve('');
      await around.listen(names.namespaceOf(slotOf(computer)));
      return createNetwork({ tool, names, ranges, uplink: null }).addresses(slotOf(computer)).computer4;
    },
    remains() {
      // The table, its route and the parent of the groups belong to the helper, which is there.
      const ofOne = new RegExp(`${names.interfaces}\\d|${names.group}[-/]\\d|${folder}/computers/`);
      return [
        ...leftovers(around, folder).filter((line) => ofOne.test(line)),
        ...readdirSync(join(folder, 'computers')),
      ];
    },
    async close() {
      await helper.stop();
      around.close();
      clearAway(folder);
    },
  };
}
