/** Teams of shells for tests: bots that need no account and do what is typed. */
import { type Engine, waitFor } from './engine.ts';

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

/**
 * The shell of the bot is in a program that sleeps, and a Ctrl-C ends it. The shell says that it works before it has started the program, and a Ctrl-C
 * that comes between the two ends nothing: the program itself says that it runs.
 */
export async function makeSleep(engine: Engine, address: string): Promise<void> {
  const text = `sh -c 'echo asleep-$((1+1)); exec sleep 300'`;
  await engine.call('POST', `/agents/${address}/input`, { text, keys: ['Enter'] });
  await waitFor(
    () => engine.call<{ text: string }>('GET', `/agents/${address}/capture`),
    ({ body }) => body.text.includes('asleep-2'),
  );
  await engine.until(address, 'working');
}

/** A team of shells with these slugs. */
export const shells = (...slugs: string[]) =>
  `bots:\n${slugs.map((slug) => `  - {bot: ${slug}, harness: shell}\n`).join('')}`;
