/** One hosted computer: its screen, questions, history and usage; starting, stopping and deleting it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Hand } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import type { HostedComputer, HostedEvent, MeterLine } from '../../../contracts/hosted-computers/computer.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Command, ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, formatElapsed } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { hostedStatus, Status } from '../../ui/status.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { LiveView } from './live-view.tsx';
import { actionWords } from './run-words.ts';
import { ShellCard } from './shell-card.tsx';
import { useHands } from './use-hands.ts';
import { useHandsServices } from './use-hands-services.ts';
import { useLiveView } from './use-live-view.ts';

export function HostedPage({ id, onBack }: { id: string; onBack: () => void }) {
  const { queries } = useHandsServices();
  const computer = useQuery(queries.hosted(id));
  return (
    <>
      <OpenBar back="Back to the computers" onBack={onBack} title={computer.data?.name ?? 'Hosted computer'}>
        <span role="status">
          {computer.data !== undefined && <Status look={hostedStatus(computer.data)} wire={computer.data.status} />}
        </span>
      </OpenBar>
      <ListStates source={computer} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
        {(data) => <Body computer={data} onGone={onBack} />}
      </ListStates>
    </>
  );
}

function Body({ computer, onGone }: { computer: HostedComputer; onGone: () => void }) {
  const { api, keys, queries } = useHandsServices();
  const client = useQueryClient();
  const { id, status } = computer;
  const [asking, setAsking] = useState<'stop' | 'delete' | null>(null);
  const meters = useQuery(queries.hostedMeters(id));
  const put = (next: HostedComputer) => {
    client.setQueryData(keys.hosted(id), next);
    void client.invalidateQueries({ queryKey: keys.hostedList });
  };
  const start = useAct(async () => put(await api.hosted.startHostedComputer({ params: { id } })));
  const used = usedOf(meters.data ?? []);
  const runs = status === 'running';
  return (
    <div className="@container min-w-0 flex-1">
      <div className="grid min-w-0 content-start gap-3 p-3 @min-[820px]:grid-cols-[minmax(0,1fr)_320px]">
        <div className="flex min-w-0 flex-col gap-3">
          {computer.toolset === 'shell' ? (
            <ShellCard computer={computer} />
          ) : (
            <Screen
              id={id}
              live={runs && !computer.sleeping}
              computer={computer}
              onStart={start.run}
              busy={start.busy}
            />
          )}
          {start.failure !== null && <Problem error={start.failure} />}
          <HostedQuestions id={id} />
          <Events id={id} />
        </div>
        <div className="flex min-w-0 flex-col gap-3">
          <Card title="This computer">
            <dl className="flex flex-col gap-1 px-3 py-2">
              <Fact name="Id">
                <ShortId id={id} />
              </Fact>
              <Fact name="Created">
                <Ago at={computer.created_at} />
              </Fact>
              <Fact name="Kind">
                {computer.toolset === 'shell' ? 'Shell, without a screen' : 'Desktop and browser'}
              </Fact>
              <Fact name="Network">{computer.egress === 'none' ? 'None' : 'Public addresses'}</Fact>
              {computer.image !== null && <Fact name="Image">{computer.image}</Fact>}
              {computer.memory_mib !== null && <Fact name="Memory">{computer.memory_mib.toLocaleString()} MiB</Fact>}
              {computer.processes !== null && <Fact name="Processes">{computer.processes.toLocaleString()}</Fact>}
              {computer.lifetime_seconds !== null && (
                <Fact name="Lifetime">{formatElapsed(computer.lifetime_seconds * 1000)} after each start</Fact>
              )}
              {computer.account_id !== null && <Fact name="Account">{computer.account_id}</Fact>}
              <Fact name="Minutes">
                <span className="tabular-nums">{meters.data === undefined ? '…' : used.minutes}</span>
              </Fact>
              <Fact name="Actions">
                <span className="tabular-nums">{meters.data === undefined ? '…' : used.actions}</span>
              </Fact>
            </dl>
            <p className="border-t border-line px-3 py-2 text-muted">
              Its cost is in{' '}
              <Link to="/settings/usage" className="rounded-control text-accent underline">
                Usage
              </Link>
              .
            </p>
            <div className="flex flex-wrap gap-2 border-t border-line px-3 py-2">
              <Button disabled={start.busy || !(status === 'stopped' || computer.sleeping)} onClick={start.run}>
                {computer.sleeping ? 'Wake' : 'Start'}
              </Button>
              <Button disabled={!runs} onClick={() => setAsking('stop')}>
                Stop
              </Button>
              <Button kind="danger" disabled={status === 'deleted'} onClick={() => setAsking('delete')}>
                Delete
              </Button>
            </div>
          </Card>
          <Card title="From a program">
            <div className="flex flex-col items-start gap-2 px-3 py-2">
              <p className="text-muted">
                Calls go to this address, with a{' '}
                <Link to="/settings/keys" className="rounded-control text-accent underline">
                  key
                </Link>{' '}
                that has the scope “computers”:
              </p>
              <Command text={`${window.location.origin}/v1/computers/${id}/toolset`} />
            </div>
          </Card>
        </div>
      </div>
      {asking !== null && (
        <ConfirmDialog
          title={asking === 'stop' ? `Stop ${computer.name}?` : `Delete ${computer.name}?`}
          description={asking === 'stop' ? 'You can start it again. Its files stay.' : 'This cannot be undone.'}
          label={asking === 'stop' ? 'Stop' : 'Delete'}
          act={async () => {
            if (asking === 'stop') return put(await api.hosted.stopHostedComputer({ params: { id } }));
            await api.hosted.deleteHostedComputer({ params: { id } });
            await client.invalidateQueries({ queryKey: keys.hostedList });
            onGone();
          }}
          onClose={() => setAsking(null)}
        >
          <ul className="flex list-disc flex-col gap-1 pl-5 text-muted">
            <li>Every program on it ends now, and unsaved work is lost.</li>
            {asking === 'delete' && (
              <li>
                {computer.toolset === 'shell'
                  ? 'Its files are removed.'
                  : 'Its files, its browser’s sign-ins and its downloads are removed.'}
              </li>
            )}
            <li>
              Used so far: {used.minutes} minutes, {used.actions} actions. Nothing more is counted
              {asking === 'stop' ? ' until it starts' : ''}.
            </li>
          </ul>
        </ConfirmDialog>
      )}
    </div>
  );
}

function Screen({
  id,
  live,
  computer,
  onStart,
  busy,
}: {
  id: string;
  live: boolean;
  computer: HostedComputer;
  onStart: () => void;
  busy: boolean;
}) {
  const [round, setRound] = useState(0);
  const screen = useMemo(() => ({ id, session: undefined }), [id]);
  const { view, store } = useLiveView(live ? screen : null, round);
  const hands = useHands(screen, view, store);
  const box = useRef<HTMLDivElement>(null);
  return (
    <div ref={box} className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button
          data-control={hands.mine ? 'release' : 'take'}
          disabled={!live}
          onClick={() => void (hands.mine ? hands.release() : hands.take())}
        >
          {hands.mine ? 'Give back' : 'Take over'}
        </Button>
        <p id="leave-view" className="min-w-0 flex-1 text-meta text-muted">
          {hands.mine
            ? 'Your clicks and typing in the picture go to the computer. Ctrl Shift L leaves the picture.'
            : view.next !== null && `Next: ${view.next.words}`}
        </p>
      </div>
      {hands.failure !== null && <Problem error={hands.failure} />}
      {live ? (
        <LiveView
          view={view}
          toolset="computer"
          mine={hands.mine}
          onCall={hands.send}
          onLeave={() => box.current?.querySelector<HTMLElement>('[data-control]')?.focus()}
          onAgain={() => setRound((old) => old + 1)}
        />
      ) : (
        <div className="flex aspect-[1280/800] w-full flex-col items-center justify-center gap-2 rounded-panel border border-line bg-terminal p-3 text-center">
          <p className="rounded-control bg-panel px-2 py-1">{notLiveWords(computer)}</p>
          {(computer.sleeping || computer.status === 'stopped') && (
            <Button disabled={busy} onClick={onStart}>
              {computer.sleeping ? 'Wake it' : 'Start it'}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function notLiveWords({ status, sleeping, sleep_keeps }: HostedComputer): string {
  if (sleeping && sleep_keeps === 'files') {
    return 'It is asleep and counts no minutes. The next call starts it again with its files.';
  }
  if (sleeping) return 'It is asleep and counts no minutes. The next call wakes it.';
  if (status === 'provisioning' || status === 'starting') return 'It is starting. Its screen will appear here.';
  if (status === 'error') return 'It failed. The events below say why.';
  return status === 'stopping' ? 'It is stopping.' : 'It is stopped.';
}

function Events({ id }: { id: string }) {
  const { queries } = useHandsServices();
  const events = useQuery(queries.hostedEvents(id));
  return (
    <Card title="Events">
      <ListStates
        source={events}
        skeleton={<SkeletonRows count={3} />}
        isEmpty={(list) => list.length === 0}
        empty={<Empty>Starts, stops, actions and approvals appear here.</Empty>}
      >
        {(list) => (
          <ol className="max-h-96 overflow-y-auto">
            {list.toReversed().map((event: HostedEvent) => (
              <li
                key={event.index}
                className="flex items-baseline gap-3 border-b border-line px-3 py-1 last:border-b-0"
              >
                <span className="min-w-0 flex-1 break-words" title={event.type}>
                  {hostedEventWords(event)}
                </span>
                <span className="shrink-0 text-meta text-muted">
                  <Ago at={event.at} />
                </span>
              </li>
            ))}
          </ol>
        )}
      </ListStates>
    </Card>
  );
}

/** To a thousandth of a minute, as it is counted. */
function usedOf(lines: readonly MeterLine[]): { readonly minutes: string; readonly actions: string } {
  const sum = (meter: MeterLine['meter']) =>
    lines.reduce((whole, line) => whole + (line.meter === meter ? line.quantity : 0), 0);
  return { minutes: sum('computer_minute').toFixed(3), actions: String(sum('computer_action')) };
}

/** What happened to a hosted computer, in words. Pure. */
const plain: Readonly<Record<HostedEvent['type'], string>> = {
  'computer.created': 'Created',
  'computer.started': 'Started',
  'computer.sleeping': 'Went to sleep',
  'computer.woken': 'Woke up',
  'computer.stopped': 'Stopped',
  'computer.deleted': 'Deleted',
  'computer.failed': 'The computer failed',
  'action.completed': 'Done',
  'action.failed': 'Failed',
  'action.denied': 'Not allowed',
  'approval.required': 'Asks for approval',
  'approval.resolved': 'Approval answered',
  'control.taken': 'Control taken',
  'control.released': 'Control given back',
  'spend_cap.reached': 'Spend cap reached',
};

/** Of members whose words need what was handed in: events of hosted computers do not have it. */
const withoutInput: Readonly<Record<string, string>> = {
  exec: 'Run a command',
  find: 'Look for an element',
  form_input: 'Fill in a field',
  hold_key: 'Hold keys',
  key: 'Press keys',
  navigate: 'Open a page',
  scroll: 'Scroll',
  type: 'Type',
  wait: 'Wait',
};

function hostedEventWords({ type, data }: HostedEvent): string {
  const words = plain[type];
  const { toolset, member, message, reason } = data;
  const what = typeof member === 'string' ? (withoutInput[member] ?? actionWords(String(toolset), member, {})) : null;
  const why = [message, reason].find((one) => typeof one === 'string');
  return [what === null ? words : `${words}: ${what}`, ...(why === undefined ? [] : [why])].join('. ');
}

/** Questions of a hosted computer's calls, answered by the owner of its project. */
function HostedQuestions({ id }: { id: string }) {
  const { api, keys, queries } = useHandsServices();
  const client = useQueryClient();
  const waiting = useQuery(queries.hostedApprovals(id)).data ?? [];
  const answer = useAct(async (approvalId: string, decision: 'approve' | 'deny') => {
    await api.hosted.approveHosted({ params: { id, approvalId }, body: { decision } });
    await client.invalidateQueries({ queryKey: keys.hosted(id, 'approvals') });
  });
  if (waiting.length === 0) return null;
  return (
    <section aria-label="Waiting for you" className="flex flex-col gap-2">
      {waiting.map((one) => (
        <article key={one.id} className="flex min-w-0 flex-col gap-2 rounded-panel border border-line bg-panel p-3">
          <p className="flex items-center gap-1.5 text-meta">
            <Hand className="size-3.5 text-need" aria-hidden="true" />
            <span className="text-need">Waiting for you</span>
            <span className="text-muted">· {one.risk} risk ·</span>
            <span className="text-muted">
              <Ago at={one.requested_at} />
            </span>
          </p>
          <TextView text={one.words} label="What the call would do" diff={false} wrap maxLines={14} />
          <div className="flex gap-2 self-end">
            <Button disabled={answer.busy} onClick={() => answer.run(one.id, 'deny')}>
              Reject
            </Button>
            <Button kind="primary" disabled={answer.busy} onClick={() => answer.run(one.id, 'approve')}>
              Approve
            </Button>
          </div>
        </article>
      ))}
      {answer.failure !== null && <Problem error={answer.failure} />}
    </section>
  );
}
