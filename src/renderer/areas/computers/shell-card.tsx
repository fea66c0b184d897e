/** The shell of a hosted computer without a screen: a person runs one command at a time and sees what it printed. */
import { useState } from 'react';
import type { HostedComputer } from '../../../contracts/hosted-computers/computer.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useHandsServices } from './use-hands-services.ts';

interface Ran {
  readonly key: number;
  readonly command: string;
  readonly output: string;
  /** How it ended, where that was not well. */
  readonly end: string | null;
}

/** The page keeps no more; the computer keeps none. */
const maxShown = 50;

export function ShellCard({ computer }: { computer: HostedComputer }) {
  const { api } = useHandsServices();
  const [command, setCommand] = useState('');
  const [ran, setRan] = useState<readonly Ran[]>([]);
  const { id, status } = computer;
  const can = status === 'running';
  const run = useAct(async () => {
    const text = command.trim();
    if (text === '' || !can) return;
    const input = { command: text, shell: true };
    const body = { toolset: 'shell', member: 'exec', input } as const;
    const { content, exec, error } = await api.device.callToolset({ params: { id }, body });
    if (error !== undefined) throw new Error(error.message);
    const output = content.flatMap((part) => (part.type === 'text' && part.text !== '' ? [part.text] : [])).join('\n');
    const code = exec?.exit_code ?? null;
    const end = code === 0 ? null : code === null ? 'It was ended.' : `Exit code ${code}.`;
    setRan((before) =>
      [{ key: before.length === 0 ? 0 : before[0]!.key + 1, command: text, output, end }, ...before].slice(0, maxShown),
    );
    setCommand('');
  });
  return (
    <Card title="Shell">
      <form
        className="flex flex-col gap-2 px-3 py-2"
        onSubmit={(event) => {
          event.preventDefault();
          run.run();
        }}
      >
        <TextField
          label="Command"
          description={
            can
              ? 'Runs in the home folder of the computer, and counts as an action.'
              : 'Start the computer to run commands.'
          }
          value={command}
          onChange={setCommand}
          spellCheck={false}
          autoCapitalize="off"
          className="font-mono"
        />
        <div>
          <Button kind="primary" type="submit" disabled={run.busy || !can || command.trim() === ''}>
            {run.busy ? 'Running' : 'Run'}
          </Button>
        </div>
        {run.failure !== null && <Problem error={run.failure} />}
      </form>
      {ran.length === 0 ? (
        <Empty>What your commands print appears here. Programs use the address in “From a program”.</Empty>
      ) : (
        <ol aria-label="Commands" className="border-t border-line">
          {ran.map((one) => (
            <li key={one.key} className="flex min-w-0 flex-col gap-1 border-b border-line px-3 py-2 last:border-b-0">
              <p className="font-mono break-words">$ {one.command}</p>
              {one.output !== '' && <TextView text={one.output} label={`Output of ${one.command}`} wrap />}
              {one.end !== null && <p className="text-meta text-muted">{one.end}</p>}
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
