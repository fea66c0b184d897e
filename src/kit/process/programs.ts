/**
 * Where Gantry's own programs lie: in `src/` run from source, in `out/server/` once built. First users: the pane host's
 * starter and the CLI handed to hooks. Must not start anything.
 */
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ProgramName =
  | 'cli'
  | 'pane-host'
  | 'worker-beats'
  | 'schema-checker'
  | 'converter'
  | 'executor'
  | 'hosted-device'
  | 'carrier-simulator';

const sources: Record<ProgramName, string> = {
  cli: join('src', 'cli', 'main.ts'),
  'pane-host': join('src', 'pane-host', 'main.ts'),
  'worker-beats': join('src', 'worker', 'beats-thread.ts'),
  'schema-checker': join('src', 'kit', 'schemas', 'thread.ts'),
  converter: join('src', 'converter', 'main.ts'),
  executor: join('src', 'executor', 'main.ts'),
  'hosted-device': join('src', 'host', 'hosted-device.ts'),
  'carrier-simulator': join('src', 'carrier-simulator', 'main.ts'),
};

/** File of a program, seen from the module at `moduleUrl` (any module of Gantry, source or built). */
export function programFile(name: ProgramName, moduleUrl: string = import.meta.url): string {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts')) return resolve(dirname(self), '..', '..', '..', sources[name]);
  const built = self.lastIndexOf(`${sep}out${sep}`);
  if (built < 0) throw new Error(`${self} is neither in src/ nor in out/: Gantry's programs cannot be found from it.`);
  return join(self.slice(0, built), 'out', 'server', `${name}.js`);
}

/** argv that runs the program with the Node this process runs on; arguments are appended by the caller. */
export function programCommand(name: ProgramName): [string, ...string[]] {
  return [process.execPath, programFile(name)];
}
