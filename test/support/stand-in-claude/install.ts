/** A folder for PATH with a `claude` that stands in for the real program. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `program`: a file beside this one. */
export function installStandInClaude(folder: string, name = 'claude.mjs'): string {
  mkdirSync(folder, { recursive: true });
  const program = fileURLToPath(new URL(`./${name}`, import.meta.url));
  // Detection of installed agent programs asks for its version.
  const script = `#!/bin/sh\n[ "$1" = --version ] && { echo '2.1.329 (Claude Code)'; exit; }\n[ "$1" = auth ] && { echo "Signing in to $CLAUDE_CONFIG_DIR"; exec cat; }\nexec '${process.execPath}' '${program}' "$@"\n`;
  writeFileSync(join(folder, 'claude'), script, { mode: 0o755 });
  return folder;
}
