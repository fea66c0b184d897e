/** A folder for PATH with a `claude` that stands in for the real program. Everything it needs is in it, because a sandbox shows no other. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const harness = fileURLToPath(new URL('../../runtime-server/harness', import.meta.url));

/** `name`: a file beside this one. */
export function installStandInClaude(folder: string, name = 'claude.mjs'): string {
  const [own, shared] = [join(folder, 'support', 'stand-in-claude'), join(folder, 'runtime-server', 'harness')];
  mkdirSync(folder, { recursive: true });
  cpSync(here, own, { recursive: true });
  for (const file of ['stand-in-claude.mjs', 'stand-in-composer.mjs']) cpSync(join(harness, file), join(shared, file));
  // Detection of installed agent programs asks for its version.
  const script = `#!/bin/sh\n[ "$1" = --version ] && { echo '2.1.329 (Claude Code)'; exit; }\n[ "$1" = auth ] && { echo "Signing in to $CLAUDE_CONFIG_DIR"; exec cat; }\nexec '${process.execPath}' '${join(own, name)}' "$@"\n`;
  writeFileSync(join(folder, 'claude'), script, { mode: 0o755 });
  return folder;
}
