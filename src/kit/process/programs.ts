/**
 * The paths of Gantry's own programs and the Node that runs them: in `src/` run from source, in `out/server/` once built. The one place that knows
 * how a program of ours is started (docs/adr/0003). First users: the pane host's starter and the CLI handed to hooks. Must not start anything.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

type ProgramName =
  | 'cli'
  | 'pane-host'
  | 'worker-beats'
  | 'schema-checker'
  | 'sandbox-probe'
  | 'converter'
  | 'executor'
  | 'hosted-device'
  | 'computer-init'
  | 'sandbox-proxy'
  | 'sandbox-launch'
  | 'acp-inside'
  | 'carrier-simulator';

const sources: Record<ProgramName, string> = {
  cli: join('src', 'cli', 'main.ts'),
  'pane-host': join('src', 'programs', 'pane-host', 'main.ts'),
  'worker-beats': join('src', 'programs', 'worker', 'beats-thread.ts'),
  'schema-checker': join('src', 'kit', 'schemas', 'thread.ts'),
  'sandbox-probe': join('src', 'kit', 'sandbox', 'probe.ts'),
  converter: join('src', 'programs', 'converter', 'main.ts'),
  executor: join('src', 'programs', 'executor', 'main.ts'),
  'sandbox-proxy': join('src', 'programs', 'sandbox-proxy', 'main.ts'),
  'sandbox-launch': join('src', 'programs', 'sandbox-launch', 'main.ts'),
  'acp-inside': join('src', 'programs', 'acp-inside', 'main.ts'),
  'hosted-device': join('src', 'host', 'hosted-device.ts'),
  'computer-init': join('src', 'programs', 'computer-init', 'main.ts'),
  'carrier-simulator': join('tools', 'carrier-simulator', 'main.ts'),
};

/** File of a program, seen from the module at `moduleUrl` (any module of Gantry, source or built). */
export function programFile(name: ProgramName, moduleUrl: string = import.meta.url): string {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts')) return resolve(dirname(self), '..', '..', '..', sources[name]);
  const built = self.lastIndexOf(`${sep}out${sep}`);
  if (built < 0) throw new Error(`${self} is neither in src/ nor in out/: Gantry's programs cannot be found from it.`);
  return join(unpacked(self.slice(0, built)), 'out', 'server', `${name}.js`);
}

/** Only Electron reads inside its archive; files for Node are beside it under the same name. */
export function unpacked(path: string): string {
  return path.replace(/([\\/]app\.asar)(?=[\\/]|$)/, '$1.unpacked');
}

/** argv that runs the program with the Node of this process; arguments are appended by the caller. */
export function programCommand(name: ProgramName): [string, ...string[]] {
  return [nodeProgram(), programFile(name)];
}

interface NodePlace {
  readonly execPath: string;
  readonly platform: string;
  readonly versions: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** argv of an installed app; Electron sets it. */
  readonly resourcesPath?: string | undefined;
}

/**
 * The Node that runs our programs: that of this process. Electron's program cannot be used (its fuse `runAsNode` is off): there it is the Node packed
 * beside the app, otherwise the one that started the app, otherwise the one in the path.
 */
export function nodeProgram(
  place: NodePlace = process as NodePlace,
  exists: (file: string) => boolean = existsSync,
): string {
  if (place.versions.electron === undefined) return place.execPath;
  const packed = join(place.resourcesPath ?? '', 'node', place.platform === 'win32' ? 'node.exe' : 'node');
  return exists(packed) ? packed : place.env.GANTRY_NODE || 'node';
}
