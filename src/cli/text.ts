/** Text given after a verb, or piped in. */
import { AppError } from '../contracts/common/errors.ts';
import { type Context, type Input, words } from './command.ts';

/** What stands in the arguments; without them, or with `-`, what stdin holds. `usage` when both are empty. */
export async function textOrStdin(context: Context, input: Input, name = 'text'): Promise<string> {
  const given = words(input, name).join(' ');
  if (given !== '' && given !== '-') return given;
  const { stdin } = context.terminal;
  if (given === '' && stdin.isTTY === true) {
    throw new AppError('usage', 'There is no text to send.', 'Give the text after the address, or pipe it in.');
  }
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Uint8Array));
  const read = Buffer.concat(pieces).toString('utf8').replace(/\n+$/, '');
  if (read === '')
    throw new AppError('usage', 'The text to send is empty.', 'Give the text after the address, or pipe it in.');
  return read;
}
