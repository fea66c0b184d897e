/** The built page that the product serves: built here when it is missing or older than its sources. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..', '..');
const built = join(root, 'out', 'renderer', 'index.html');
const sources = [
  'src/renderer',
  'src/client',
  'src/contracts',
  'docs/glossary.md',
  'vite.config.ts',
  'package-lock.json',
];

function newest(path: string): number {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

export async function buildRenderer(): Promise<void> {
  if (existsSync(built) && statSync(built).mtimeMs > Math.max(...sources.map((path) => newest(join(root, path)))))
    return;
  const { NODE_ENV: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'build-page.ts')], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`The page could not be built (exit ${code}).`);
}
