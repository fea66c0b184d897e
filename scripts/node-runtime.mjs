/**
 * Which Node runs Gantry, and whether what was built is fresh. Written so that Node 18 can parse it: it must be able to say what is
 * missing where nothing else runs. Must not import anything but Node.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const buildStamp = join(root, 'out', '.built');

/** The natives are made for Node-API 10, and sources run as they are: both hold from Node 22.18 and 24 on. */
export function thisNodeIsEnough() {
  return Number(process.versions.napi) >= 10 && Boolean(process.features.typescript);
}

/** A Node that can run Gantry: this one, or the one that came with the dependencies. Null: there is none. */
export function findNode() {
  if (thisNodeIsEnough()) return process.execPath;
  const system = process.platform === 'win32' ? 'win' : process.platform;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`node-${system}-${process.arch}/package.json`));
    const file = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(file) ? file : null;
  } catch {
    return null;
  }
}

export const noNode = `Gantry needs Node 24 here and this is Node ${process.versions.node}: install Node 24 from https://nodejs.org and start again.`;

/** Whether this is a clone with sources, not an installed package. */
export function isCheckout() {
  return existsSync(join(root, 'src', 'cli', 'main.ts')) && !root.includes(`${sep}node_modules${sep}`);
}

/** Whether `out/` was built after every source (and folder: a removed file changes its folder) was last changed. */
export function buildIsFresh() {
  let built;
  try {
    built = statSync(buildStamp).mtimeMs;
  } catch {
    return false;
  }
  const newer = (path) => {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return false;
    if (status.mtimeMs > built) return true;
    return status.isDirectory() && readdirSync(path).some((name) => newer(join(path, name)));
  };
  return !['src', 'tools', 'docs', 'vite.config.ts', 'package.json'].some((name) => newer(join(root, name)));
}
