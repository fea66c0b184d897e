/** `gantry sandbox try`: what each bot of a team can reach, read, change and spend, as it was tried from inside. */
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { inCell } from '../words.ts';

/** In place of the wire's words, where they are not the same. */
const words: Readonly<Record<string, string>> = { nothing: '-', open: 'no limit', set: 'limited' };

export const tryOut = verb('trySandbox', {
  fields: { name: 'team' },
  words: ({ bots }, { output }) =>
    bots
      .map(({ agent, sandbox, trouble, rows }) => {
        const head = inCell(`${agent}, sandbox: ${sandbox}`);
        if (trouble !== null) return `${head}\n${inCell(trouble)}`;
        const cells = rows.map(({ topic, what, found, note }) => [
          topic,
          inCell(what),
          topic === 'spending' && what === 'account' ? '' : (words[found] ?? found),
          inCell(note ?? ''),
        ]);
        return `${head}\n${table(['', 'what', 'can', 'note'], cells, output.width)}`;
      })
      .join('\n\n'),
});
