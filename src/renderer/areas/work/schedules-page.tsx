/** Schedules: what runs automatically and when, the results of recent times, and missed times. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarClock, ChevronDown, ChevronRight } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import type { Occurrence, Schedule } from '../../../contracts/factory/schedules-routes.ts';
import type { Action } from '../../base/actions.ts';
import { forEach } from '../../base/for-each.ts';
import { groupRows, saysAll } from '../../base/found-rows.ts';
import { BackLink } from '../../base/place-frame.tsx';
import { FindAndGroup, type Selection, SelectionBar, Tick, useSelection, useTickKey } from '../../base/selection.tsx';
import { useAddActions, useServices } from '../../base/services.tsx';
import { useOfferUndo } from '../../base/undo.ts';
import { filterAction } from '../../base/way-back.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { occurrenceStatus, Status } from '../../ui/status.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useAct } from '../../ui/use-act.ts';
import { ScheduleDialog } from './schedule-dialog.tsx';
import { cronWords, momentIn, sameSchedule } from './schedule-form.ts';

/** Times come without an event; ms. */
const lookEvery = 30_000;

const groupings = { none: 'No groups', template: 'By template', state: 'By state' } as const;
type Grouping = keyof typeof groupings;
const groupOf = {
  none: null,
  template: (one: Schedule) => one.run.template,
  state: (one: Schedule) => (one.paused ? 'Paused' : 'On'),
} as const;

export function SchedulesPage() {
  const { queries } = useServices();
  const schedules = useQuery({ ...queries.schedules, staleTime: 0, refetchInterval: lookEvery });
  const page = useRef<HTMLElement>(null);
  const [making, setMaking] = useState(false);
  const [text, setText] = useState('');
  const [grouping, setGrouping] = useState<Grouping>('none');
  const all = schedules.data?.schedules ?? [];
  const found = all.filter((one) => saysAll([one.title, one.run.template, one.timezone], text));
  const selection = useSelection(found.map(({ id }) => id));
  useTickKey('Work', 'Select or deselect the schedule');
  const actions = useMemo<readonly Action[]>(
    () => [
      { id: 'new-schedule', title: 'New schedule', group: 'Work', keys: 'n', run: () => setMaking(true) },
      filterAction(page, 'Search schedules'),
    ],
    [],
  );
  useAddActions(actions);
  return (
    <main ref={page} className="flex min-h-0 min-w-0 flex-1 flex-col">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
        <BackLink to="/work" label="Back to work" />
        <h1 className="min-w-0 flex-1 truncate text-title font-semibold">Schedules</h1>
        <Button icon={CalendarClock} kind="primary" aria-keyshortcuts="n" onClick={() => setMaking(true)}>
          New schedule
        </Button>
      </header>
      {all.length > 1 && (
        <div className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
          <FindAndGroup
            label="Search schedules"
            hint="Search ( / )"
            text={text}
            onText={setText}
            groupLabel="Group schedules"
            grouping={grouping}
            groupings={groupings}
            onGrouping={setGrouping}
          />
        </div>
      )}
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
          {() =>
            found.length === 0 ? (
              <p className="p-3 text-muted">No schedule matches.</p>
            ) : (
              groupRows(found, groupOf[grouping]).map(({ name, rows }) => (
                <section key={name} aria-label={name === '' ? 'Schedules' : name}>
                  {name !== '' && <h2 className="px-3 pt-3 pb-1 text-meta font-semibold text-muted">{name}</h2>}
                  <ul>
                    {rows.map((one) => (
                      <Row key={one.id} schedule={one} selection={all.length > 1 ? selection : null} />
                    ))}
                  </ul>
                </section>
              ))
            )
          }
        </ListStates>
        <ManySchedules selection={selection} schedules={all.filter(({ id }) => selection.chosen.includes(id))} />
      </div>
      {making && <ScheduleDialog onClose={() => setMaking(false)} />}
    </main>
  );
}

/** Pausing, turning on and removing the ticked ones; each can be taken back. */
function ManySchedules({ selection, schedules }: { selection: Selection; schedules: readonly Schedule[] }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const offerUndo = useOfferUndo();
  const [removing, setRemoving] = useState(false);
  const again = () => client.invalidateQueries({ queryKey: keys.schedules });
  const nameOf = ({ title }: Schedule) => title;
  const pause = (paused: boolean) => (one: Schedule) =>
    api.factory.changeSchedule({ params: { id: one.id }, body: { paused } });
  const pausing = useAct(async (paused: boolean) => {
    const wanted = schedules.filter((one) => one.paused !== paused);
    const done = await forEach(wanted, nameOf, pause(paused));
    await again();
    selection.clear();
    if (done.length === 0) return;
    offerUndo(`${paused ? 'Paused' : 'Turned on'} ${countWords(done.length, 'schedule')}`, async () => {
      await forEach(done, nameOf, pause(!paused));
      await again();
    });
  });
  const remove = async () => {
    const done = await forEach(schedules, nameOf, ({ id }) =>
      api.factory.removeSchedule({ params: { id }, query: {} }),
    );
    await again();
    selection.clear();
    if (done.length === 0) return;
    const idempotencyKeys = new Map(done.map((one) => [one, crypto.randomUUID()]));
    offerUndo(`Removed ${countWords(done.length, 'schedule')}`, async () => {
      await forEach(done, nameOf, (one) =>
        api.factory.createSchedule({ body: sameSchedule(one) }, { idempotencyKey: idempotencyKeys.get(one) ?? '' }),
      );
      await again();
    });
  };
  return (
    <>
      <SelectionBar selection={selection} label="Selected schedules">
        <Button disabled={pausing.busy || schedules.every(({ paused }) => paused)} onClick={() => pausing.run(true)}>
          Pause
        </Button>
        <Button disabled={pausing.busy || !schedules.some(({ paused }) => paused)} onClick={() => pausing.run(false)}>
          Turn on
        </Button>
        <Button onClick={() => setRemoving(true)}>Remove…</Button>
      </SelectionBar>
      {removing && (
        <ConfirmDialog
          title={`Remove ${countWords(schedules.length, 'schedule')}`}
          description="They no longer run. Their past runs stay."
          label="Remove"
          act={remove}
          onClose={() => setRemoving(false)}
        >
          <ul className="list-disc pl-5">
            {schedules.map(({ id, title }) => (
              <li key={id} className="break-words">
                {title}
              </li>
            ))}
          </ul>
        </ConfirmDialog>
      )}
    </>
  );
}

function Row({
  schedule,
  selection,
}: {
  schedule: Schedule;
  /** Null: there is only this one. */
  selection: Selection | null;
}) {
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
    <li data-schedule={id} data-ticks={id} className="border-b border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-3 py-2">
        {selection !== null && <Tick selection={selection} id={id} label={title} />}
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
