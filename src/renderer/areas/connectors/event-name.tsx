/** An event in a row: what it says of itself, with its id in the tooltip; the id where it says nothing. */
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
