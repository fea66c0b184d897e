/** Opens a run of which only the id is known, as from its question in the inbox. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { useConnectorServices } from './use-connector-services.ts';
import type { Go } from './within.ts';

export function FindRun({ run, go, onBack }: { run: string; go: Go; onBack: () => void }) {
  const { queries } = useConnectorServices();
  const found = useQuery(queries.jobPlace(run));
  const { data, error } = found;
  useEffect(() => {
    if (data !== undefined) go({ connector: data.connectorId, sub: data.subscriptionId, run }, true);
  }, [data, go, run]);
  const gone = error instanceof AppError && error.code === 'not_found';
  return (
    <>
      <OpenBar back="Back to all connectors" onBack={onBack} title="Run" />
      {gone ? (
        <Empty action={<Button onClick={onBack}>Show all connectors</Button>}>
          This run was not found on this computer. Its service may have been removed.
        </Empty>
      ) : (
        <ListStates fill source={found} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
          {() => null}
        </ListStates>
      )}
    </>
  );
}
