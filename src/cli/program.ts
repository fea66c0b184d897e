/**
 * The parser: makes commander's commands from the catalogue and runs the one that was called.
 * Everything that goes wrong ends as one problem and one exit code; the parser's own complaints are `usage`.
 */
import { Command, CommanderError, Help } from 'commander';
import { AppError } from '../contracts/common/errors.ts';
import { nearestOf } from '../contracts/common/nearest.ts';
import { packageRoot } from '../host/places.ts';
import { commands, parts } from './catalogue.ts';
import type { Context, Input, Verb } from './command.ts';
import { type CommandNames, calledHere, commandNames } from './command-name.ts';
import { type Connection, connect, type Env } from './connect.ts';
import { examples, helpGroups } from './examples.ts';
import { asAppError, createOutput } from './output.ts';
import { hanging, harmless } from './words.ts';

interface World {
  readonly argv: readonly string[];
  readonly env: Env;
  readonly cwd: string;
  readonly terminal: Context['terminal'];
  readonly now: () => number;
  readonly version: string;
}

type Called = { verb: Verb; words: string; input: Input } | { help: string } | { version: true };

/** Runs one command line and answers its exit code. */
export async function runCli(world: World): Promise<number> {
  const names = commandNames(packageRoot(), world.cwd, world.env);
  // Decided before parsing: a complaint of the parser must come in the asked shape, too.
  const end = world.argv.indexOf('--');
  const json = (end < 0 ? world.argv : world.argv.slice(0, end)).includes('--json');
  let stays = false;
  const output = createOutput(world.terminal, json, world.env, () => stays);
  try {
    const called = parse(world, names);
    if ('help' in called) {
      output.result({ help: called.help }, () => called.help);
      return 0;
    }
    if ('version' in called) {
      output.result({ version: world.version }, () => world.version);
      return 0;
    }
    let connection: Promise<Connection> | null = null;
    const context: Context = {
      output,
      names,
      env: world.env,
      cwd: world.cwd,
      terminal: world.terminal,
      now: world.now,
      connect: () => {
        connection ??= connect(world.env, names).catch((error: unknown) => {
          // A Gantry that is still starting may be found the next time.
          connection = null;
          throw error;
        });
        return connection;
      },
    };
    stays = called.verb.stays === true;
    const action = await called.verb.load();
    return (await action(context, called.input)) ?? 0;
  } catch (error) {
    // Set in as a problem is: its first line quotes what a bot wrote.
    if (world.env.GANTRY_DEBUG === '1') world.terminal.stderr.write(`${harmless(hanging(stackOf(error)))}\n`);
    const { code, fact, action, options } = asAppError(error);
    return output.problem(new AppError(code, calledHere(fact, names), calledHere(action, names), options));
  }
}

function stackOf(error: unknown): string {
  const known = asAppError(error);
  const cause = known.options.cause;
  return `${known.stack}${cause instanceof Error ? `\ncaused by ${cause.stack}` : ''}`;
}

function parse(world: World, names: CommandNames): Called {
  let called: Called | null = null;
  let printed = '';
  const call = (result: Called): void => {
    called = result;
  };
  const root = new Command('gantry')
    .description('Gantry runs a team of bots on this computer.')
    .option('--json', 'print one JSON document and nothing else')
    .option('--version', 'print the version')
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        printed += text;
      },
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(100, world.terminal.stdout.columns ?? 100),
    })
    .configureHelp({ showGlobalOptions: false, subcommandTerm: (command) => termOf(command) })
    .addHelpText('after', () => closing(names))
    .allowExcessArguments()
    .action(() => {
      refuseUnknown(root, [...commands, ...parts], names);
      call(
        root.opts().version === true ? { version: true } : { verb: alone, words: '', input: { args: {}, options: {} } },
      );
    });
  for (const verb of commands) addVerb(root, verb, verb.name, call);
  const groups: [Command, readonly { readonly name: string }[]][] = [[root, [...commands, ...parts]]];
  for (const part of parts) {
    const command = inherit(root, root.command(part.name)).description(part.about);
    groups.push([command, part.verbs]);
    command.allowExcessArguments().action(() => {
      refuseUnknown(command, part.verbs, names);
      call({ help: command.helpInformation() });
    });
    command.option('--json', 'print one JSON document and nothing else');
    for (const verb of part.verbs) addVerb(command, verb, `${part.name} ${verb.name}`, call);
  }
  for (const command of root.commands) command.helpGroup(groupOf(command.name()));
  (root.commands as Command[]).sort((a, b) => placeOf(a.name()) - placeOf(b.name()));
  try {
    root.parse(helpAsked(world.argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) {
      // The parser helps before it looks whether there is what help is asked for.
      for (const [command, known] of groups) refuseUnknown(command, known, names);
      return { help: printed };
    }
    throw complaint(error, world.argv, names);
  }
  if (called === null) throw new AppError('usage', 'No command was given.', `See: ${names.gantry} --help`);
  return called;
}

const order = helpGroups.flatMap(([, names]) => names);
const placeOf = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
const groupOf = (name: string) => helpGroups.find(([, names]) => names.includes(name))?.[0] ?? 'Other commands:';

/** What `gantry` does without a command. */
const alone: Verb = {
  name: 'home',
  about: 'Show what needs you and what to do next',
  load: () => import('./verbs/home.ts').then((m) => m.home),
};

function addVerb(parent: Command, verb: Verb, words: string, call: (called: Called) => void): void {
  const command = inherit(parent, parent.command(verb.args === undefined ? verb.name : `${verb.name} ${verb.args}`));
  command.description(verb.about);
  command.option('--json', 'print one JSON document and nothing else');
  for (const option of verb.options ?? []) command.option(option.flags, option.about);
  if (verb.mutation === true) command.option('--dry-run', 'only say what would change');
  if (verb.more !== undefined) command.addHelpText('after', `\n${verb.more}`);
  const example = examples[words];
  if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${example}`);
  command.action(() => {
    const args = command.registeredArguments.map((argument, index) => [argument.name(), command.processedArgs[index]]);
    call({ verb, words, input: { args: Object.fromEntries(args), options: command.optsWithGlobals() } });
  });
}

/** `gantry help agents` is `gantry agents --help`. */
function helpAsked(argv: readonly string[]): string[] {
  return argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv];
}

/** Subcommands made with `command()` take over exit and output settings; extra arguments are refused. */
function inherit(parent: Command, command: Command): Command {
  return command.copyInheritedSettings(parent).allowExcessArguments(false);
}

/** A leftover word after a command that has only subcommands is an unknown subcommand's name. */
function refuseUnknown(command: Command, known: readonly { readonly name: string }[], names: CommandNames): void {
  const [given] = command.args;
  if (given === undefined || given.startsWith('-') || known.some(({ name }) => name === given)) return;
  const near = nearestOf(
    given,
    known.map(({ name }) => name),
  );
  const path = command.name() === 'gantry' ? [] : [command.name()];
  const where = path.length === 0 ? '' : ` in ${path[0]}`;
  throw new AppError(
    'usage',
    `There is no command ${JSON.stringify(given)}${where}.${near === undefined ? '' : ` Did you mean ${near}?`}`,
    `See: ${[names.gantry, ...path, '--help'].join(' ')}`,
  );
}

function termOf(command: Command): string {
  return new Help().subcommandTerm(command).replace(' [options]', '');
}

function closing(names: CommandNames): string {
  return `
First steps
  ${names.start}
  ${names.gantry} teams demo && ${names.gantry} teams up demo
  ${names.gantry} agents ls
  ${names.gantry} orchestration send <bot@team> "Hello"

Every command takes --json; one that makes a change and ends also takes --dry-run.
Exit codes: 0 done, 1 refused, 2 not found, 3 Gantry is not running, or no connection, 4 timeout, 5 needs a person, 6 ended otherwise (wait), 64 usage, 70 internal.
`;
}

function complaint(error: CommanderError, argv: readonly string[], names: CommandNames): AppError {
  const fact = error.message
    .replace(/^error: /, '')
    .split('\n')
    .map((line) => line.replace(/^\(|\)$/g, ''))
    .filter((line) => line !== '');
  const path: string[] = [];
  for (const word of argv) {
    if (word.startsWith('-') || path.length === 2) break;
    const known =
      path.length === 0
        ? parts.some((part) => part.name === word) || commands.some((verb) => verb.name === word)
        : parts.some((part) => part.name === path[0] && part.verbs.some((verb) => verb.name === word));
    if (!known) break;
    path.push(word);
  }
  const sentence = fact.map((line) => capital(line) + (/[.?!]$/.test(line) ? '' : '.')).join(' ');
  return new AppError('usage', sentence, `See: ${[names.gantry, ...path, '--help'].join(' ')}`);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
