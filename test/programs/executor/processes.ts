/** Processes below another one, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function below(ancestor: number): Process[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): Process[] => {
      try {
        const parent = Number(/\)\s\S\s(\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))![1]);
        return [
          { pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') },
        ];
      } catch {
        return [];
      }
    });
  const found = new Set([ancestor]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const one of all) if (found.has(one.parent)) found.add(one.pid);
  }
  return all.filter(({ pid }) => pid !== ancestor && found.has(pid));
}

/** The browser itself, of a program that has one. */
export function browserOf(program: number): number {
  const found = below(program).find(
    ({ command }) => command.includes('--user-data-dir') && !command.includes('--type='),
  );
  if (found === undefined) throw new Error('no browser runs');
  return found.pid;
}

/** The processes of its pages; one of them may be kept for the next page. */
export function renderersOf(program: number): number[] {
  const found = below(program).filter(({ command }) => command.includes('--type=renderer'));
  if (found.length === 0) throw new Error('no page runs');
  return found.map(({ pid }) => pid);
}
