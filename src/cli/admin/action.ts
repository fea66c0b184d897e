/** `<noun> [action] …`: which action was asked for, with its words checked. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Action, type Input, optionalText } from '../command.ts';

/** A command with several verbs: the first word names the verb; the default is `ls`. */
export function byAction(ways: Readonly<Record<string, Action>>): Action {
  return async (context, input) => {
    const given = optionalText(input, 'action') ?? 'ls';
    const way = Object.hasOwn(ways, given) ? ways[given] : undefined;
    if (way !== undefined) return way(context, input);
    const fact = `There is no action ${JSON.stringify(given)}.`;
    throw new AppError('usage', fact, `Use one of: ${Object.keys(ways).join(', ')}.`);
  };
}

/** A word that this action needs. */
export function word(input: Input, name: string): string {
  const value = optionalText(input, name);
  if (value !== undefined) return value;
  throw new AppError('usage', `The ${name} is missing.`, 'Give it after the action; --help shows the order.');
}
