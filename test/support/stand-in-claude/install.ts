/** A folder for PATH with a `claude` that stands in for the real program. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export function installStandInClaude(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const program = fileURLToPath(new URL('./claude.mjs', import.meta.url));
  // Detection of installed agent programs asks for its version.
  const script = `#!/bin/sh\n[ "$1" = --version ] && { echo '2.1.329 (Claude Code)'; exit; }\nexec '${process.execPath}' '${program}' "$@"\n`;
  writeFileSync(join(folder, 'claude'), script, { mode: 0o755 });
  return folder;
}
