/** An event in a row: its title, with its id in the tooltip; without a title, its id. */
export function EventName({ event: { eventId, about } }: { event: { eventId: string; about: string | null } }) {
  return about === null ? (
    <span className="min-w-0 truncate font-mono text-code" title={eventId}>
      {eventId}
    </span>
  ) : (
    <span className="min-w-0 truncate" title={`${about}\n${eventId}`}>
      <bdi>{about}</bdi>
    </span>
  );
}
