/** Claude Code in the rows of the conformance kit; what it has of its own is played by `claude.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { claudeVersion } from './claude-install.ts';
import { busy, playKit } from './harness-kit.ts';
import { createBench, type Play } from './harness-play.ts';
import { openHookEndpoint } from './hook-endpoint.ts';

function reply(prompt: string): ModelReply {
  // A prompt that got no answer goes out again in front of the next one.
  const words = prompt.slice(Math.max(0, prompt.lastIndexOf('From owner')));
  const input = { command: 'touch made && ls', description: 'Make a file' };
  if (words.includes('RUNSHELL')) return tools({ name: 'Bash', input });
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('BUSY')) return busy;
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
}

/** How it finds the model server, asks nobody else and gives up soon. */
const modelEnv = (url: string) => ({
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_AUTH_TOKEN: 'scripted',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
  CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: '1',
  CLAUDE_CODE_MAX_RETRIES: '1',
});

async function play(): Promise<boolean> {
  const bench = await createBench('claude', {
    script:
      () =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser),
    env: ({ url }) => modelEnv(url),
  });
  // As its person left it after the first start.
  const projects = { [bench.work]: { hasTrustDialogAccepted: true } };
  const settings = { hasCompletedOnboarding: true, theme: 'dark', projects };
  writeFileSync(join(bench.home, '.claude.json'), JSON.stringify(settings));
  const spec = bench.spec('kit');
  const endpoint = await openHookEndpoint(bench.paths('kit').urlFile);
  await playKit(bench, { spec, attached: (bot) => endpoint.bots.set('kit', bot) });
  endpoint.close();
  return bench.close();
}

export const claudePlay: Play = {
  harness: 'claude',
  package: '@anthropic-ai/claude-code',
  version: claudeVersion,
  megabytes: 361,
  afterInstall: 'install.cjs',
  play,
};
