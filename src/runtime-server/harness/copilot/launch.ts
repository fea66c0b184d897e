/**
 * Starts Copilot in a pane or for one answer: flags, the plugin with the hooks of this start, environment. Nothing is written into the person's home.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { quote } from '../shell/start-file.ts';
import { copilotProgram } from './program.ts';
import { copilotHookEvents } from './rules.ts';

/** A hook that does not answer blocks the turn; the hook client gives up before this. */
const hookTimeoutSeconds = 10;

/** It runs the installed version, not a newer one that it downloaded: the rules were recorded with a version. */
const own = { COPILOT_AUTO_UPDATE: 'false' };

/** In exec mode nobody can answer a question: what is not allowed here is refused. */
const modeFlags: Readonly<Record<ExecMode, readonly string[]>> = {
  plan: ['--plan', '--deny-tool=write'],
  ask: [],
  accept_edits: ['--allow-tool=write'],
};

/** Where Copilot keeps its conversations for this bot. */
export function copilotHome({ env, home }: Pick<Surroundings, 'env' | 'home'>, bot?: Pick<BotSpec, 'env'>): string {
  const set = (name: string) => bot?.env[name] || env[name];
  return set('COPILOT_HOME') || join(set('HOME') || home, '.copilot');
}

/** A plugin of one start: every hook that a rule reads calls `gantry hook <Event>`. In this spelling the payloads are those of Claude Code. */
async function hooksPlugin(paths: BotPaths): Promise<string> {
  const folder = join(paths.folder, 'copilot-plugin');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const call = (event: string) => [...paths.gantry, 'hook', event].map(quote).join(' ');
  const hook = (event: string) => [{ type: 'command', bash: call(event), timeoutSec: hookTimeoutSeconds }];
  const hooks = Object.fromEntries(copilotHookEvents.map((event) => [event, hook(event)]));
  const write = (name: string, value: unknown) =>
    writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await write('plugin.json', {
    name: 'gantry',
    version: '1.0.0',
    description: 'Reports to Gantry',
    hooks: 'hooks.json',
  });
  await write('hooks.json', { version: 1, hooks });
  return folder;
}

/** The team's culture as instructions of this start, beside those that the person has set. */
async function instructions(around: Surroundings, bot: BotSpec, paths: BotPaths): Promise<Record<string, string>> {
  if (bot.culture === null) return {};
  const folder = join(paths.folder, 'copilot-instructions');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'AGENTS.md'), bot.culture, { mode: 0o600 });
  const theirs = bot.env.COPILOT_CUSTOM_INSTRUCTIONS_DIRS ?? around.env.COPILOT_CUSTOM_INSTRUCTIONS_DIRS ?? '';
  return { COPILOT_CUSTOM_INSTRUCTIONS_DIRS: [theirs, folder].filter((one) => one !== '').join(',') };
}

/** In one word: a name that begins with a dash would be read as an option. */
const model = (bot: BotSpec): string[] => (bot.model === null ? [] : [`--model=${bot.model}`]);

/** `resume`: a session that was seen and whose transcript is still there. */
export async function launchCopilot(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  resume: string | null,
): Promise<{ launch: Launch; sessionId: string }> {
  const sessionId = resume ?? randomUUID();
  const command: Launch['command'] = [
    await installedProgram(around, 'copilot', copilotProgram),
    resume === null ? `--session-id=${sessionId}` : `--resume=${sessionId}`,
    `--plugin-dir=${await hooksPlugin(paths)}`,
    '--mode=interactive',
    ...model(bot),
  ];
  const env = { ...own, ...(await instructions(around, bot, paths)) };
  return { sessionId, launch: paneLaunch(around, bot, paths, command, env) };
}

/** argv of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  resume: string | null,
  paths: BotPaths,
): Promise<ExecStart> {
  return {
    command: [
      await installedProgram(around, 'copilot', copilotProgram),
      '--output-format=json',
      '--no-ask-user',
      ...modeFlags[mode],
      ...(resume === null ? [] : [`--resume=${resume}`]),
      ...model(bot),
    ],
    own: { ...own, ...(await instructions(around, bot, paths)) },
  };
}
