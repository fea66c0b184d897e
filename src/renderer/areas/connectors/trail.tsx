/** The events of a subscription, newest first; each row opens the event's steps, with their times. */
import { useQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { TrailEvent } from '../../../contracts/connectors/subscription.ts';
import { useNarrow } from '../../base/use-narrow.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { ShortId } from '../../ui/copy.tsx';
import { Empty, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { PagedList } from '../../ui/pages.tsx';
import { jobStatus, Status, trailStatus } from '../../ui/status.tsx';
import { runsWords, stepsOf } from './connector-words.ts';
import { EventName } from './event-name.tsx';
import { TicketData } from './ticket-data.tsx';
import { useConnectorServices } from './use-connector-services.ts';

const head = 'h-7 border-b border-line px-2 text-left text-meta font-normal text-muted first:pl-3 last:pr-3';

export function Trail({
  id,
  sub,
  cursor,
  onCursor,
  onJob,
}: {
  id: string;
  sub: string;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  onJob: (job: string) => void;
}) {
  const { queries } = useConnectorServices();
  const trail = useQuery(queries.trail(id, sub, cursor));
  const [open, setOpen] = useState<string | null>(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows}>
      <PagedList
        source={trail}
        noun="events"
        rowsOf={(page) => page.events}
        cursor={cursor}
        onCursor={onCursor}
        skeleton={<SkeletonRows count={8} />}
        empty={<Empty>Events appear here as they arrive, each with its path: received, relayed, ticket, job.</Empty>}
      >
        {(events) => (
          <table className="w-full table-fixed border-collapse">
            <caption className="sr-only">Events, newest first</caption>
            <thead>
              <tr>
                <th scope="col" className={`${head} w-28 max-sm:w-26`}>
                  Status
                </th>
                <th scope="col" className={head}>
                  Event
                </th>
                <th scope="col" className={`${head} max-sm:hidden`}>
                  Result
                </th>
                <th scope="col" className={`${head} w-24 text-right max-sm:w-22`}>
                  Received
                </th>
              </tr>
            </thead>
            {events.map((event) => (
              <EventRows
                key={event.eventId}
                event={event}
                open={event.eventId === open}
                onToggle={() => setOpen((old) => (old === event.eventId ? null : event.eventId))}
                onJob={onJob}
              />
            ))}
          </table>
        )}
      </PagedList>
    </div>
  );
}

function EventRows({
  event,
  open,
  onToggle,
  onJob,
}: {
  event: TrailEvent;
  open: boolean;
  onToggle: () => void;
  onJob: (job: string) => void;
}) {
  const received = event.receivedAt ?? event.relayedAt;
  const steps = `steps-${event.eventId}`;
  const columns = useNarrow() ? 3 : 4;
  return (
    <tbody>
      <tr className="relative h-7 hover:bg-raised pointer-coarse:h-11" data-trail={event.status}>
        <td className="px-2 pl-3">
          <Status look={trailStatus[event.status]} wire={event.status} />
        </td>
        <td className="px-2">
          <button
            type="button"
            data-row="true"
            aria-expanded={open}
            aria-controls={open ? steps : undefined}
            onClick={onToggle}
            className="flex w-full min-w-0 items-center gap-1.5 text-left after:absolute after:inset-0 after:rounded-control focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
          >
            <ChevronRight className={`size-3.5 shrink-0 text-faint ${open ? 'rotate-90' : ''}`} aria-hidden="true" />
            <EventName event={event} />
          </button>
        </td>
        <td className="truncate px-2 text-muted max-sm:hidden" title={event.reason ?? undefined}>
          {runsWords(event)}
        </td>
        <td className="px-2 pr-3 text-right text-meta text-muted">{received !== null && <Ago at={received} />}</td>
      </tr>
      {open && (
        <tr id={steps}>
          <td colSpan={columns} className="border-b border-line bg-panel px-3 py-2">
            <Way event={event} onJob={onJob} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Way({ event, onJob }: { event: TrailEvent; onJob: (job: string) => void }) {
  const began = event.receivedAt ?? event.relayedAt;
  return (
    <div className="flex min-w-0 flex-col gap-2 sm:pl-26">
      <ol aria-label="Path of the event" className="flex flex-col gap-1">
        {stepsOf(event).map((step, index) => {
          const job = event.runs.find(({ id }) => id === step.jobId);
          return (
            <li
              key={step.jobId ?? step.word}
              className="grid grid-cols-[12px_minmax(0,1fr)_auto] items-center gap-2 sm:max-w-[560px]"
            >
              <span
                aria-hidden="true"
                className={`size-2 rounded-full ${step.missing ? 'border border-line-strong' : 'bg-muted'}`}
              />
              <span className={`flex min-w-0 flex-wrap items-center gap-x-2 ${step.missing ? 'text-muted' : ''}`}>
                {job === undefined ? (
                  step.word
                ) : (
                  <>
                    <button
                      type="button"
                      onClick={() => onJob(job.id)}
                      className="rounded-control text-accent underline pointer-coarse:py-2"
                    >
                      {step.word}
                    </button>
                    <Status look={jobStatus[job.status]} wire={job.status} />
                  </>
                )}
                {step.word === 'Ticket opened' && event.ticketId !== null && <ShortId id={event.ticketId} />}
              </span>
              <span className="text-meta text-muted tabular-nums">
                {step.at !== null && <StepTime at={step.at} since={index === 0 ? null : began} />}
              </span>
            </li>
          );
        })}
      </ol>
      {event.reason !== null && <p className="break-words text-muted">{event.reason}</p>}
      {event.about !== null && (
        <p className="text-muted">
          <ShortId id={event.eventId} />
        </p>
      )}
      {event.ticketId !== null && <TicketData id={event.ticketId} />}
    </div>
  );
}

/** The time of day, and how long after the beginning. */
function StepTime({ at, since }: { at: string; since: string | null }) {
  const date = new Date(at);
  const after = since === null ? null : Date.parse(at) - Date.parse(since);
  return (
    <time dateTime={at} title={date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}>
      {after !== null && after >= 0 && (
        <span className="text-faint">+{after < 10_000 ? `${(after / 1000).toFixed(2)} s` : afterWords(after)} </span>
      )}
      {date.toLocaleTimeString(undefined, { timeStyle: 'medium' })}
    </time>
  );
}

function afterWords(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 2) return `${Math.round(milliseconds / 1000)} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
