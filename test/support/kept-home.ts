/**
 * A Gantry of any commit in a folder of its own: started on a workspace, used over HTTP as its person would, stopped, and packed as an archive of its data
 * folder and workspace. For those that make the data folders in `test/data`.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from 'tar';
import { createCaller } from './bench/http.ts';
import { processes } from './bench/processes.ts';
import { agreeToAll } from './trust.ts';
import { startVictim } from './victim.ts';

export type Row = Record<string, string>;

/** `files`: those of the workspace, by path. `more`: arguments of `gantry start`. */
export async function startToKeep({
  checkout,
  place,
  files,
  more = [],
}: {
  readonly checkout: string;
  readonly place: string;
  readonly files: Readonly<Record<string, string>>;
  readonly more?: readonly string[];
}) {
  const [home, workspace] = [join(place, 'home'), join(place, 'workspace')];
  rmSync(place, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    const file = join(workspace, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }
  mkdirSync(home, { mode: 0o700 });

  const gantry = startVictim({
    command: [
      process.execPath,
      join(checkout, 'scripts', 'gantry.mjs'),
      ...['start', '--headless', '--json', ...more, '--port', '0', '--engine-port', '0', '--workspace', workspace],
    ],
    cwd: workspace,
    env: { HOME: place, GANTRY_HOME: home, TZ: 'UTC' },
  });
  const hosts = () =>
    processes().filter(({ pid, command }) => pid !== process.pid && command.includes(`--home ${home}`));
  process.on('exit', () => {
    gantry.child.kill();
    for (const { pid } of hosts()) process.kill(pid);
  });
  const said = JSON.parse(await gantry.until((line) => line.startsWith('{'))) as Row;
  const token = readFileSync(join(home, 'token'), 'utf8').trim();
  const web = createCaller(new URL(said.url as string).origin, token);
  const engine = createCaller(said.engine as string, token);
  /** Approvals are answered in the cloud. */
  const isOfEngine = (path: string) => path.startsWith('/api/factory/') && !path.startsWith('/api/factory/approvals');
  const ask = <T = Row>(method: string, path: string, body?: unknown) =>
    (isOfEngine(path) ? engine : web).call<T>(method, path, body);

  return {
    home,
    workspace,
    /** What its sign-in link is. */
    link: said.url as string,
    isOfEngine,
    ask,
    make: <T = Row>(path: string, body: unknown) => ask<T>('POST', path, body),
    async until<T>(path: string, holds: (answer: T) => boolean): Promise<T> {
      for (let tries = 0; tries < 300; tries += 1) {
        const answer = await ask<T>('GET', path);
        if (holds(answer)) return answer;
        await delay(50);
      }
      throw new Error(`${path} did not become what it should: ${JSON.stringify(await ask('GET', path))}`);
    },
    /** Says yes to all that the workspace may run. */
    agree: () => agreeToAll(`${said.engine}/api/factory`, { authorization: `Bearer ${token}` }),
    /** The host of the panes ends as when a computer is switched off: while bots run. */
    async stop(): Promise<void> {
      web.close();
      engine.close();
      gantry.child.kill('SIGTERM');
      await gantry.ended;
      for (const { pid } of hosts()) process.kill(pid, 'SIGTERM');
      while (hosts().length > 0) await delay(50);
    },
    /** Without logs, sockets and `leftOut`, by their paths from the place, which is removed. */
    async pack(file: string, leftOut?: RegExp): Promise<void> {
      const filter = (path: string) => !/^home\/(logs|run\/(?!panes(\/|$)))/.test(path) && leftOut?.test(path) !== true;
      await create({ cwd: place, file, gzip: { level: 9 }, portable: true, filter }, ['home', 'workspace']);
      rmSync(place, { recursive: true, force: true });
    },
  };
}
