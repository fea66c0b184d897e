/**
 * `npm run dist`: installers for this system and processor. Builds, puts the Node that the app's programs run on into `out/node`, and
 * runs electron-builder with what it was given (`npm run dist -- --dir`).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { thisNodeIsEnough } from './node-runtime.mjs';

const root = join(import.meta.dirname, '..');
const windows = process.platform === 'win32';
const program = windows ? 'node.exe' : 'node';

/** The pinned one where the registry has it, else the one that runs this: on macOS take the one of nodejs.org, which needs nothing else. */
function nodeToPack() {
  const system = windows ? 'win' : process.platform;
  const pinned = join(root, 'node_modules', `node-${system}-${process.arch}`, 'bin', program);
  if (existsSync(pinned)) return pinned;
  return thisNodeIsEnough() ? process.execPath : null;
}

function run(words) {
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const node = nodeToPack();
if (node === null) {
  console.error(`This Node (${process.version}) is too old to be packed into the app: run npm run dist with Node 24.`);
  process.exit(64);
}
run([join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', '--app', '--logLevel', 'warn']);
const folder = join(root, 'out', 'node');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
copyFileSync(node, join(folder, program));
chmodSync(join(folder, program), 0o755);
const license = join(node, '..', '..', 'LICENSE');
if (existsSync(license)) copyFileSync(license, join(folder, 'LICENSE'));
run([join(root, 'node_modules', 'electron-builder', 'cli.js'), '--publish', 'never', ...process.argv.slice(2)]);
