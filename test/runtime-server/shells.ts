/** Teams of shells for tests: bots that need no account and do what is typed. */
import type { Engine } from './engine.ts';

let teams = 0;

/** A new team of idle shells. Answers its name. */
export async function startShells(engine: Engine, ...slugs: string[]): Promise<string> {
  const name = newTeam(engine, ...slugs);
  const { status, body } = await engine.call('POST', `/teams/${name}/up`, {});
  if (status !== 200) throw new Error(JSON.stringify(body));
  for (const slug of slugs) await engine.until(`${slug}@${name}`, 'idle');
  return name;
}

/** A new team of shells that are not running. */
export function newTeam(engine: Engine, ...slugs: string[]): string {
  teams += 1;
  const name = `t${teams}`;
  engine.team(name, shells(...slugs));
  return name;
}

/** The shell of the bot is in a program of the foreground until the answered function is called. */
export async function makeBusy(engine: Engine, address: string): Promise<() => void> {
  const file = `free-${address}`;
  const text = `until [ -e ${file} ]; do sleep 0.05; done; rm ${file}`;
  await engine.call('POST', `/agents/${address}/input`, { text, keys: ['Enter'] });
  await engine.until(address, 'working');
  return () => engine.write(file, '');
}

/** A team of shells with these slugs. */
export const shells = (...slugs: string[]) =>
  `bots:\n${slugs.map((slug) => `  - {bot: ${slug}, harness: shell}\n`).join('')}`;
