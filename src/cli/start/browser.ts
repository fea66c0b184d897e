/** Opens an address in the person's browser. A browser that does not start is reported, but is not an error. */
import { spawn } from 'node:child_process';
import { browserCommand, type Surroundings } from './surroundings.ts';

/** Resolves with null when the browser was started, else with why not. */
export function openBrowser(address: string, place: Surroundings): Promise<string | null> {
  const way = browserCommand(place);
  if ('none' in way) return Promise.resolve(way.none);
  const [program = '', ...rest] = way.command;
  return new Promise((resolve) => {
    const child = spawn(program, [...rest, address], { stdio: 'ignore', detached: true });
    child.on('error', (error) => resolve(error.message));
    child.on('spawn', () => {
      child.unref();
      resolve(null);
    });
  });
}
