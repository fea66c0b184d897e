/** Tries by a command in a computer of the toolset shell: what somebody runs there. Must not know which driver made the computer. */
import type { Attempts } from '../../conformance/hosted-computers/subject.ts';
import type { LinkedComputer } from '../../support/computers/dialled.ts';

/** Tried by a command in the computer, all at once. */
export async function reachedByCommand(link: LinkedComputer, attempts: Attempts): Promise<string[]> {
  const names = Object.keys(attempts);
  const lines = Object.values(attempts).map((attempt, index) => {
    if (attempt.do !== 'tcp') throw new Error('A command tries only TCP.');
    return `(timeout 5 bash -c 'exec 3<>/dev/tcp/${attempt.host}/${attempt.port}' 2>/dev/null && echo ${index}) &`;
  });
  const text = await output(link, `${lines.join('\n')}\nwait`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((index) => names[Number(index)]!);
}

/** What a command in the computer writes. */
export async function output(link: LinkedComputer, command: string): Promise<string> {
  const { status, body } = await link.drive('shell', 'exec', { command, shell: true });
  const [text] = body.content ?? [];
  if (status !== 200 || body.is_error || text?.type !== 'text') {
    throw new Error(`A command could not be run: ${status} ${JSON.stringify(body)}`);
  }
  return text.text;
}
