/** What to do before there is a team: see a demo, have a harness, write a team of one's own. */
import { useQuery } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import type { ReactNode } from 'react';
import { useServices } from '../../app/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Command } from '../../ui/copy.tsx';

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <li className="flex gap-3 border-b border-line p-3 last:border-b-0">
      <span className="flex size-6 shrink-0 items-center justify-center rounded-full border border-line text-meta text-muted tabular-nums">
        {number}
      </span>
      <div className="flex min-w-0 flex-col items-start gap-2">
        <h3 className="font-medium">{title}</h3>
        {children}
      </div>
    </li>
  );
}

export function FirstSteps({
  demoTeam,
  onDemo,
}: {
  /** Name of the demo team where it is in the workspace already. */
  demoTeam: string | null;
  onDemo: () => void;
}) {
  const { queries } = useServices();
  const workspace = useQuery(queries.workspace);
  return (
    <Card title="First steps">
      <ol>
        <Step number={1} title="Watch a demo team">
          <p className="text-muted">
            A demo: three shell bots at work in a sample project.{' '}
            {demoTeam === null
              ? 'You see what will be written before anything is.'
              : 'Its files are in this workspace already; nothing runs yet.'}
          </p>
          <Button kind="primary" onClick={onDemo}>
            <Play className="size-3.5" aria-hidden="true" />
            {demoTeam === null ? 'Add the demo team' : 'Start the demo team'}
          </Button>
        </Step>
        <Step number={2} title="Have an agent of your own signed in">
          <p className="text-muted">
            The list of harnesses shows which are installed here, and the command for each that is not ready.
          </p>
        </Step>
        <Step number={3} title="Write your team">
          <p className="text-muted">
            A team is a file in{' '}
            {workspace.data === undefined ? (
              'the workspace'
            ) : (
              <code className="font-mono text-code break-all">{workspace.data.path}</code>
            )}
            ; it shows up here when you save it.
          </p>
          <Command text=".gantry/teams/my-team/team.yaml" />
        </Step>
      </ol>
    </Card>
  );
}
