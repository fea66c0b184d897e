/** What stands where a computer is needed, for a person of a cloud who has paired none. Must not know which page it stands on. */
import { useQuery } from '@tanstack/react-query';
import { Command } from '../ui/copy.tsx';
import { useComputers, usePlaces } from './floors.tsx';
import { useServices } from './services.tsx';

/** Whether it is known that the person has no computer. */
export function useNoComputer(): boolean {
  const { queries } = useServices();
  const many = useQuery(queries.session).data?.computer === null;
  const listed = useComputers().data !== undefined;
  const places = usePlaces();
  return many && listed && places.length === 0;
}

/** How the first one is paired. */
export function PairFirst() {
  return (
    <>
      <p className="text-muted">
        Bots run on your own computers, and you reach them here. On a computer where Gantry is installed, run this
        command and follow the link that it prints. The computer then appears here.
      </p>
      <Command text={`npx gantry pair ${window.location.origin}`} />
      <p className="text-muted">
        Without a terminal: open Gantry there, go to Settings, Computers, and pair it with {window.location.origin}.
      </p>
    </>
  );
}
