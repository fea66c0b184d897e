/** `gantry completion <shell>`: scripts made from the catalogue; they start no program while a person types. */
import { AppError } from '../../contracts/common/errors.ts';
import { commands, parts } from '../catalogue.ts';
import { type Action, text, type Verb } from '../command.ts';

export const completion: Action = async (context, input) => {
  const shell = text(input, 'shell');
  if (shell !== 'bash' && shell !== 'zsh') {
    throw new AppError('usage', `There is no completion for ${JSON.stringify(shell)}.`, 'Give bash or zsh.');
  }
  const script = shell === 'bash' ? bash() : `autoload -U +X bashcompinit && bashcompinit\n${bash()}`;
  context.output.result({ shell, script }, () => script);
  return undefined;
};

function optionNames(verb: Verb): string[] {
  const own = (verb.options ?? []).map((option) => option.flags.split(' ')[0] ?? '');
  return [...own, ...(verb.mutation === true ? ['--dry-run'] : []), '--json', '--help'];
}

function bash(): string {
  const built = (verb: Verb): boolean => verb.load !== undefined;
  const usable = parts.filter((part) => part.verbs.some(built));
  const first = [...commands.filter(built).map((verb) => verb.name), ...usable.map((part) => part.name)];
  const cases = [
    ...commands.filter(built).map((verb) => `    "${verb.name} "*) words="${optionNames(verb).join(' ')}" ;;`),
    ...usable.flatMap((part) =>
      part.verbs
        .filter(built)
        .map((verb) => `    "${part.name} ${verb.name}") words="${optionNames(verb).join(' ')}" ;;`),
    ),
  ];
  const second = usable.map(
    (part) =>
      `    ${part.name}) words="${part.verbs
        .filter(built)
        .map((verb) => verb.name)
        .join(' ')}" ;;`,
  );
  return `_gantry() {
  local words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${first.join(' ')} --help --version"
  elif [ "$COMP_CWORD" -eq 2 ] && [[ "\${COMP_WORDS[2]}" != -* ]]; then case "\${COMP_WORDS[1]}" in
${second.join('\n')}
    *) words="--json --help" ;;
  esac
  else case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.join('\n')}
    *) words="--json --help" ;;
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gantry gantry
`;
}
