/** Lets a held bot continue. */
import { useQueryClient } from '@tanstack/react-query';
import type { BotHold } from '../../../contracts/factory/spending-routes.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';

/** One message over its limit, or a try before the reset. */
export function GoOn({ hold }: { hold: BotHold }) {
  const { api, keys } = useServices();
  const client = useQueryClient();
  const going = useAct(async () => {
    await api.factory.letBotGoOn({ params: { id: hold.agentId }, body: {} });
    await Promise.all([
      client.invalidateQueries({ queryKey: keys.spending }),
      client.invalidateQueries({ queryKey: keys.agents }),
    ]);
  });
  return (
    <>
      <Button disabled={going.busy} onClick={() => going.run()}>
        {hold.kind === 'budget' ? 'Continue once' : 'Try now'}
      </Button>
      {going.failure !== null && <Problem error={going.failure} />}
    </>
  );
}
