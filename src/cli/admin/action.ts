/** `<noun> [action] …`: which action was asked for, with its words checked. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Input, optionalText } from '../command.ts';

/** The first word; `ls` when there is none. */
export function actionOf<const Name extends string>(input: Input, names: readonly Name[]): Name {
  const given = optionalText(input, 'action') ?? 'ls';
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  throw new AppError('usage', `There is no action ${JSON.stringify(given)}.`, `Use one of: ${names.join(', ')}.`);
}

/** A word that this action needs. */
export function word(input: Input, name: string): string {
  const value = optionalText(input, name);
  if (value !== undefined) return value;
  throw new AppError('usage', `The ${name} is missing.`, 'Give it after the action; --help shows the order.');
}
