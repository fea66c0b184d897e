/** The work queue: its figures, its workers, and every task. */
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty } from '../../ui/list-states.tsx';
import { Figures } from './figures.tsx';
import { TaskBrowser } from './task-browser.tsx';
import { commandLines } from './task-words.ts';

const quietLink = 'rounded-control text-muted hover:text-ink hover:underline pointer-coarse:py-2.5';

export function QueuePage() {
  const navigate = useNavigate();
  return (
    <TaskBrowser
      of={null}
      header={(handIn) => (
        <>
          <header className="flex h-10 shrink-0 items-center gap-4 border-b border-line bg-panel px-3 pointer-coarse:h-12">
            <h1 className="text-title font-semibold">Queue</h1>
            <nav aria-label="Groups of tasks" className="flex gap-3">
              <Link to="/queue/sessions" className={quietLink}>
                Sessions
              </Link>
              <Link to="/queue/deployments" className={quietLink}>
                Deployments
              </Link>
            </nav>
            <span className="ml-auto">
              <HandIn onClick={handIn} />
            </span>
          </header>
          <Figures onWorker={(worker_id) => void navigate({ to: '/queue', search: { worker_id } })} />
        </>
      )}
      empty={(handIn) => <NoTasks action={<HandIn onClick={handIn} quiet />} />}
    />
  );
}

export function HandIn({ onClick, quiet = false }: { onClick: () => void; quiet?: boolean }) {
  return (
    <Button
      icon={Plus}
      kind={quiet ? 'plain' : 'primary'}
      onClick={onClick}
      aria-keyshortcuts={quiet ? undefined : 'n'}
    >
      Add task
    </Button>
  );
}

function NoTasks({ action }: { action: ReactNode }) {
  return (
    <Empty action={action}>
      Tasks for your own computers appear here. Programs add them with a key that has the scope{' '}
      <code className="font-mono text-code">work</code> (
      <Link to="/settings/keys" className="rounded-control text-accent underline">
        API keys
      </Link>
      ), kept in a file:
      <span className="mt-2 block">
        <Command text={commandLines(window.location.origin).add} />
      </span>
    </Empty>
  );
}
