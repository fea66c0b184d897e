/**
 * `gantry completion <shell>`: scripts made from the catalogue. Commands and options stand in the script; only for the name of a bot, team, run or
 * template does it start `gantry completion --names`, which asks the Gantry that runs here.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { commands, parts } from '../catalogue.ts';
import { type Action, type Context, optionalText, type Verb } from '../command.ts';
import { pages } from '../pages.ts';

const shells = { bash, zsh: () => `autoload -U +X bashcompinit && bashcompinit\n${bash()}`, fish };

export const completion: Action = async (context, input) => {
  const kind = optionalText(input, 'names');
  if (kind !== undefined) {
    const names = await namesOf(context, kind);
    context.output.result({ names }, () => names.join('\n'));
    return undefined;
  }
  const shell = optionalText(input, 'shell');
  if (shell === undefined || !Object.hasOwn(shells, shell)) {
    const fact = shell === undefined ? 'No shell is named.' : `There is no completion for ${JSON.stringify(shell)}.`;
    throw new AppError('usage', fact, `Give bash, zsh or fish: ${context.names.gantry} completion bash`);
  }
  const script = shells[shell as keyof typeof shells]();
  context.output.result({ shell, script }, () => script);
  return undefined;
};

const kinds = ['bots', 'teams', 'runs', 'templates', 'subjects', 'things', 'shells'] as const;
type Kind = (typeof kinds)[number];

/** Without a Gantry that runs there are none: a shell that completes prints no errors. */
async function namesOf(context: Context, kind: string): Promise<string[]> {
  if (!kinds.includes(kind as Kind)) {
    throw new AppError('usage', `${JSON.stringify(kind)} is not a kind of name.`, `Use ${kinds.join(', ')}.`);
  }
  if (kind === 'shells') return Object.keys(shells);
  try {
    const { factory } = await context.connect();
    const bots = async () => (await factory.listAgents()).agents.map((one) => one.address);
    const teams = async () => (await factory.listTeams()).teams.map((one) => one.name);
    const runs = async () => [...new Set((await factory.listNodes({ query: {} })).nodes.map((one) => one.dagId))];
    const templates = async () => (await factory.listTemplates()).templates.map((one) => one.id);
    const subjects = async () => [...(await bots()), ...(await runs())];
    const things = async () => [...pages, ...(await bots()), ...(await teams()), ...(await runs())];
    const found = await { bots, teams, runs, templates, subjects, things }[kind as Exclude<Kind, 'shells'>]();
    // A shell may expand the words that it is given; nobody's name becomes a command.
    return found.filter((name) => /^[\w.@:/-]+$/.test(name) && !name.startsWith('-'));
  } catch (error) {
    if (error instanceof AppError && error.code === 'transport') return kind === 'things' ? [...pages] : [];
    throw error;
  }
}

/** Arguments and values of options that are such a name. */
const kindOf: Readonly<Record<string, Kind>> = {
  bot: 'bots',
  to: 'bots',
  what: 'subjects',
  'bot@team': 'bots',
  team: 'teams',
  run: 'runs',
  dag: 'runs',
  template: 'templates',
  thing: 'things',
  shell: 'shells',
};

const nameKind = (syntax: string | undefined): Kind | undefined =>
  kindOf[/[<[]([^>\].]+)/.exec(syntax ?? '')?.[1] ?? ''];

const all: readonly { readonly words: string; readonly verb: Verb }[] = [
  ...commands.map((verb) => ({ words: verb.name, verb })),
  ...parts.flatMap((part) => part.verbs.map((verb) => ({ words: `${part.name} ${verb.name}`, verb }))),
];

function optionNames(verb: Verb): string[] {
  const own = (verb.options ?? []).map((option) => option.flags.split(' ')[0] ?? '');
  return [...own, ...(verb.mutation === true ? ['--dry-run'] : []), '--json', '--help'];
}

/** Names of the values of options, and of the first argument. */
function namesIn(verb: Verb) {
  const options = (verb.options ?? []).flatMap(({ flags }) => {
    const kind = nameKind(flags);
    return kind === undefined ? [] : [{ flag: flags.split(' ')[0] ?? '', kind }];
  });
  return { first: nameKind(verb.args?.split(' ')[0]), options };
}

function bash(): string {
  const first = [...commands.map((verb) => verb.name), ...parts.map((part) => part.name)];
  const cases = all.map(({ words, verb }) => {
    const { first: kind, options } = namesIn(verb);
    const place = words.split(' ').length + 1;
    const named = [
      ...(kind === undefined ? [] : [`[ "$COMP_CWORD" -eq ${place} ] && names=${kind}`]),
      ...options.map((one) => `[ "$last" = "${one.flag}" ] && names=${one.kind}`),
    ];
    return `    "${words}") words="${optionNames(verb).join(' ')}"${named.map((one) => `; ${one}`).join('')} ;;`;
  });
  const second = parts.map((part) => `    ${part.name}) words="${part.verbs.map((verb) => verb.name).join(' ')}" ;;`);
  const single = commands.map((verb) => verb.name).join('|');
  return `_gantry() {
  local words="" names="" last="\${COMP_WORDS[COMP_CWORD-1]}" now="\${COMP_WORDS[COMP_CWORD]}" said
  said="\${COMP_WORDS[1]}"
  case "$said" in ${single}) ;; *) said="$said \${COMP_WORDS[2]}" ;; esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="${first.join(' ')} --help --version"
  elif [ "$COMP_CWORD" -eq 2 ] && [[ "$said" == *" "* ]]; then case "\${COMP_WORDS[1]}" in
${second.join('\n')}
    *) words="--json --help" ;;
  esac
  else case "$said" in
${cases.join('\n')}
    *) words="--json --help" ;;
  esac; fi
  if [ -n "$names" ] && [[ "$now" != -* ]]; then words="$(command gantry completion --names "$names" 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}
# Names have @ and : in them, at which bash would begin a new word.
COMP_WORDBREAKS="\${COMP_WORDBREAKS//[@:]/}"
complete -o default -F _gantry gantry
`;
}

const quoted = (words: string) => `'${words.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fish(): string {
  const top = [...commands, ...parts].map(
    ({ name, about }) => `complete -c gantry -f -n __fish_use_subcommand -a ${name} -d ${quoted(about)}`,
  );
  const verbs = parts.flatMap((part) => {
    const names = part.verbs.map((verb) => verb.name).join(' ');
    const when = `__fish_seen_subcommand_from ${part.name}; and not __fish_seen_subcommand_from ${names}`;
    return part.verbs.map(
      (verb) => `complete -c gantry -f -n ${quoted(when)} -a ${verb.name} -d ${quoted(verb.about)}`,
    );
  });
  const inside = all.flatMap(({ words, verb }) => {
    const when = quoted(
      words
        .split(' ')
        .map((word) => `__fish_seen_subcommand_from ${word}`)
        .join('; and '),
    );
    const { first, options } = namesIn(verb);
    const flags = [
      ...(verb.options ?? []),
      ...(verb.mutation === true ? [{ flags: '--dry-run', about: 'only say what would change' }] : []),
      { flags: '--json', about: 'print one JSON document and nothing else' },
    ];
    return [
      ...(first === undefined ? [] : [`complete -c gantry -f -n ${when} -a '(__gantry_names ${first})'`]),
      ...flags.map((option) => {
        const long = (option.flags.split(' ')[0] ?? '').slice(2);
        const kind = options.find((one) => one.flag === `--${long}`)?.kind;
        const value = option.flags.includes('<') ? ' -r' : '';
        const given = kind === undefined ? '' : ` -f -a '(__gantry_names ${kind})'`;
        return `complete -c gantry -n ${when} -l ${long}${value}${given} -d ${quoted(option.about)}`;
      }),
    ];
  });
  return `function __gantry_names
  command gantry completion --names $argv[1] 2>/dev/null
end
${[...top, ...verbs, ...inside].join('\n')}
`;
}
