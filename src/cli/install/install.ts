/** `gantry install`: writes the service's one file into the person's own place and tells the system. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { dataFolder, placesIn } from '../../host/places.ts';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import { type Action, type Context, flag } from '../command.ts';
import { findRunning } from '../running.ts';
import { lingers, runTool, type Service, serviceHere } from './service.ts';

export const install: Action = async (context, input) => {
  const service = serviceHere(context.env);
  if (flag(input, 'status')) return status(context, service);
  if (flag(input, 'uninstall')) return uninstall(context, service, flag(input, 'dryRun'));
  const { unit, system } = service;
  const running = findRunning(context.env);
  const commands = [...service.enable, ...(running === null ? service.start : [])];
  if (flag(input, 'dryRun')) {
    const plan = { system, file: unit.file, text: unit.text, run: commands };
    context.output.result({ dryRun: true, plan }, () =>
      [`Would write ${unit.file}:`, '', unit.text, 'and run:', ...commands.map((words) => `  ${words.join(' ')}`)].join(
        '\n',
      ),
    );
    return undefined;
  }
  const probed = runTool(service.probe, context.env);
  if (!probed.ok) {
    throw new AppError(
      'transport',
      `${system} does not answer here (${probed.said}), so nothing was installed.`,
      `Sign in to a session of your own and try again, or set it up yourself from what \`gantry install --dry-run\` prints.`,
    );
  }
  const home = dataFolder(context.env);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const places = placesIn(home);
  mkdirSync(places.logs, { recursive: true, mode: 0o700 });
  if (!existsSync(places.serviceEnv)) writePrivateFile(places.serviceEnv, emptyVariables);
  const before = textOf(service);
  mkdirSync(dirname(unit.file), { recursive: true });
  writeFileSync(unit.file, service.encoding === 'utf8' ? unit.text : `\ufeff${unit.text}`, service.encoding);
  for (const words of commands) {
    const { ok, said } = runTool(words, context.env);
    if (ok) continue;
    if (before === null) rmSync(unit.file, { force: true });
    else writeFileSync(unit.file, before, service.encoding);
    throw new AppError(
      'transport',
      `${words.join(' ')} failed: ${said}. ${unit.file} is as it was before.`,
      'Fix that, then install again.',
    );
  }
  const linger = lingers(service);
  context.output.result(
    { installed: unit.file, system, started: running === null, lingers: linger, variables: places.serviceEnv },
    () =>
      [
        `Installed ${unit.file}: ${system} starts Gantry when you sign in.`,
        running === null
          ? `It runs now. Open it: ${context.names.gantry} open`
          : `Gantry is already running (process ${running.pid}); the service takes over at your next sign-in.`,
        ...(linger === false
          ? ['It ends when you sign out. To run it from boot, signed in or not:  loginctl enable-linger']
          : []),
        `Put variables that bots need, such as model keys, into ${places.serviceEnv}.`,
      ].join('\n'),
  );
  return undefined;
};

const emptyVariables = `# Variables for Gantry as a service, which does not see those of your shell. One NAME=value a line.
# ANTHROPIC_API_KEY=
`;

function uninstall(context: Context, service: Service, dryRun: boolean): undefined {
  const { unit, system } = service;
  if (!existsSync(unit.file)) {
    throw new AppError(
      'not_found',
      `No service is installed: ${unit.file} does not exist.`,
      `Install it: ${context.names.gantry} install`,
    );
  }
  if (dryRun) {
    const plan = { system, file: unit.file, run: [...service.disable, ...service.forget] };
    context.output.result({ dryRun: true, plan }, () => `Would remove ${unit.file}.`);
    return undefined;
  }
  // Whatever the system says: without the file there is no service.
  const said = service.disable.map((words) => runTool(words, context.env)).filter((ran) => !ran.ok);
  rmSync(unit.file);
  for (const words of service.forget) runTool(words, context.env);
  const running = findRunning(context.env);
  context.output.result({ removed: unit.file, running: running?.pid ?? null }, () =>
    [
      `Removed ${unit.file}: Gantry starts only when you start it.`,
      ...said.map((ran) => `${system} said: ${ran.said}`),
      ...(running === null
        ? []
        : [`It is still running (process ${running.pid}). Stop it: ${context.names.gantry} stop`]),
    ].join('\n'),
  );
  return undefined;
}

function status(context: Context, service: Service): undefined {
  const found = inspectService(context, service);
  context.output.result(found, () => found.detail);
  return undefined;
}

interface ServiceState {
  readonly state: 'ok' | 'missing' | 'warn';
  readonly detail: string;
  readonly fix: string | null;
}

/** For `gantry doctor`, too. */
export function inspectService(context: Context, service: Service = serviceHere(context.env)): ServiceState {
  const { unit, system } = service;
  const again = `${context.names.gantry} install`;
  const text = textOf(service);
  if (text === null) {
    return { state: 'missing', detail: 'not installed: Gantry starts only when you start it', fix: again };
  }
  if (text !== unit.text && withoutPath(text) !== withoutPath(unit.text)) {
    return { state: 'warn', detail: `${unit.file} belongs to another Gantry, or was changed`, fix: again };
  }
  if (!runTool(service.known, context.env).ok) {
    return { state: 'warn', detail: `${unit.file} exists, but ${system} does not know it`, fix: again };
  }
  return lingers(service) === false
    ? { state: 'ok', detail: `${system} starts Gantry when you sign in, and ends it when you sign out`, fix: null }
    : { state: 'ok', detail: `${system} starts Gantry automatically`, fix: null };
}

function textOf({ unit, encoding }: Service): string | null {
  return existsSync(unit.file) ? readFileSync(unit.file, encoding).replace(/^\ufeff/, '') : null;
}

/** The search path of today need not be that of the day of the installation. */
const withoutPath = (text: string) => text.replaceAll(/^.*PATH(=|<\/key>).*$/gm, '');
