/** Schedules: what runs automatically and when, the results of recent times, and missed times. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, ChevronDown, ChevronRight } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Occurrence, Schedule } from '../../../contracts/factory/schedules-routes.ts';
import type { Action } from '../../base/actions.ts';

import { BackLink } from '../../base/place-frame.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { occurrenceStatus, Status } from '../../ui/status.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useAct } from '../../ui/use-act.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { cronWords, momentIn, sameSchedule } from './schedule-form.ts';

/** Times come without an event; ms. */
const lookEvery = 30_000;

export function SchedulesPage() {
  const { queries } = useServices();
  const schedules = useQuery({ ...queries.schedules, staleTime: 0, refetchInterval: lookEvery });
  const [making, setMaking] = useState(false);
  const actions = useMemo<readonly Action[]>(
    () => [{ id: 'new-schedule', title: 'New schedule', group: 'Work', keys: 'n', run: () => setMaking(true) }],
    [],
  );
  useAddActions(actions);
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
        <BackLink to="/work" label="Back to work" />
        <h1 className="min-w-0 flex-1 truncate text-title font-semibold">Schedules</h1>
        <Button icon={CalendarClock} kind="primary" aria-keyshortcuts="n" onClick={() => setMaking(true)}>
          New schedule
        </Button>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListStates
          source={schedules}
          skeleton={<SkeletonRows count={4} height={56} />}
          isEmpty={(data) => data.schedules.length === 0}
          empty={
            <Empty
              action={
                <Button icon={CalendarClock} onClick={() => setMaking(true)}>
                  New schedule
                </Button>
              }
            >
              Scheduled templates appear here, with their next times and those that were missed. Create one here, or use{' '}
              <code>npx gantry workflows schedule</code>.
            </Empty>
          }
        >
          {(data) => (
            <ul>
              {data.schedules.map((one) => (
                <Row key={one.id} schedule={one} />
              ))}
            </ul>
          )}
        </ListStates>
      </div>
      {making && <ScheduleDialog onClose={() => setMaking(false)} />}
    </main>
  );
}

function Row({ schedule }: { schedule: Schedule }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const offerUndo = useOfferUndo();
  const [open, setOpen] = useState(false);
  const [removing, setRemoving] = useState(false);
  const { id, title, timezone, paused, missed, last } = schedule;
  const params = { id };
  const again = () => client.invalidateQueries({ queryKey: keys.schedules });
  const pausing = useAct(async (on: boolean) => {
    await api.factory.changeSchedule({ params, body: { paused: !on } });
    await again();
  });
  const running = useAct(async () => {
    await api.factory.runSchedule({ params, body: {} }, { idempotencyKey: crypto.randomUUID() });
    await Promise.all([again(), client.invalidateQueries({ queryKey: keys.campaigns })]);
  });
  const failure = pausing.failure ?? running.failure;
  return (
    <li data-schedule={id} className="border-b border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-3 py-2">
        <IconButton label={`Times of ${title}`} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
        </IconButton>
        <div className="min-w-52 flex-1">
          <p className="truncate font-medium" title={title}>
            {title}
          </p>
          <p className="text-meta text-muted">
            {schedule.cron === null ? `Once, ${momentIn(schedule.at ?? '', timezone)}` : cronWords(schedule.cron)}{' '}
            <span className="text-faint">({timezone})</span>
          </p>
        </div>
        <div className="w-52 text-meta max-sm:basis-full max-sm:pl-9">
          <p className="tabular-nums">{nextWords(schedule)}</p>
          <p className="flex flex-wrap items-center gap-x-2 text-muted">
            {last !== null && <Status look={occurrenceStatus[last.state]} wire={last.state} />}
            {missed > 0 && last?.state !== 'missed' && <span>{missed} missed</span>}
            {missed > 1 && last?.state === 'missed' && <span>{missed} in total</span>}
          </p>
        </div>
        <div className="flex items-center gap-2 max-sm:pl-9">
          <Switch label={`${title} is on`} on={!paused} disabled={pausing.busy} onChange={(on) => pausing.run(on)} />
          <Button disabled={running.busy} onClick={() => running.run()}>
            Run now
          </Button>
          <Button kind="quiet" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        </div>
      </div>
      {failure !== null && (
        <div className="px-3 pb-2">
          <Problem error={failure} />
        </div>
      )}
      {open && <Times schedule={schedule} />}
      {removing && (
        <ConfirmDialog
          title={`Remove “${title}”`}
          description="It no longer runs. Its past runs stay."
          label="Remove"
          act={async () => {
            await api.factory.removeSchedule({ params, query: {} });
            const idempotencyKey = crypto.randomUUID();
            offerUndo(`Schedule “${title}” removed`, async () => {
              await api.factory.createSchedule({ body: sameSchedule(schedule) }, { idempotencyKey });
              await again();
            });
            await again();
          }}
          onClose={() => setRemoving(false)}
        />
      )}
    </li>
  );
}

function nextWords({ paused, next, timezone }: Schedule): string {
  if (paused) return 'Paused';
  const [first] = next;
  return first === undefined ? 'Ended' : `Next ${momentIn(first, timezone)}`;
}

function Times({ schedule }: { schedule: Schedule }) {
  const { queries } = useServices();
  const times = useQuery({ ...queries.occurrences(schedule.id), staleTime: 0 });
  return (
    <ListStates
      source={times}
      skeleton={<SkeletonRows count={3} />}
      isEmpty={(data) => data.occurrences.length === 0}
      empty={<Empty>No run was due yet.</Empty>}
    >
      {(data) => (
        <ul className="border-t border-line bg-panel" aria-label={`Times of ${schedule.title}`}>
          {data.occurrences.map((one) => (
            <Time key={one.due} one={one} schedule={schedule} />
          ))}
        </ul>
      )}
    </ListStates>
  );
}

function Time({ one, schedule }: { one: Occurrence; schedule: Schedule }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const making = useAct(async () => {
    await api.factory.runSchedule(
      { params: { id: schedule.id }, body: { due: one.due } },
      { idempotencyKey: `${schedule.id}-${one.due}` },
    );
    await client.invalidateQueries({ queryKey: keys.schedules });
  });
  const { dagId } = one;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1 pr-3 pl-12">
      <span className="w-44 tabular-nums">{momentIn(one.due, schedule.timezone)}</span>
      <span className="w-24">
        <Status look={occurrenceStatus[one.state]} wire={one.state} />
      </span>
      <span className="min-w-0 text-meta break-words text-muted max-sm:basis-full sm:flex-1">{one.reason}</span>
      {dagId !== null && (
        <Link to="/work" search={{ dag: dagId, view: 'graph' }} className="text-accent hover:underline">
          Open run
        </Link>
      )}
      {one.state !== 'started' && (
        <Button disabled={making.busy} onClick={() => making.run()}>
          Run it now
        </Button>
      )}
      {making.failure !== null && <Problem error={making.failure} />}
    </li>
  );
}
