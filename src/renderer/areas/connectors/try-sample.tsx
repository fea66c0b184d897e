/** Connects the sample shop, subscribes a bot to its orders with a rule, and places one: a connector that works, in one click. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { PlacedBot } from '../../base/data/places.ts';
import { useBots } from '../../base/floors.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';
import type { Go } from './within.ts';

const rule = 'Say in one sentence what was ordered, and from which country.';

/**
 * Only such a bot gets jobs: a shell, or a program that Gantry knows nothing of, cannot be asked for an answer, and a job would leave the sandbox of a
 * program's terminal.
 */
const worksAlone = ({ binding: { type, harness }, sandbox }: PlacedBot): boolean =>
  type === 'hosted' || (sandbox === undefined && harness !== undefined && harness !== 'shell' && harness !== 'custom');

export function TrySample({ go }: { go: Go }) {
  const { api, queries } = useConnectorServices();
  const client = useQueryClient();
  const touch = useTouchConnector();
  const everyBot = useBots();
  const hasBots = everyBot.length > 0;
  const hasWorker = everyBot.some(worksAlone);
  const connectors = api.connectors;
  const attempt = useAct(async () => {
    const { name, url } = await connectors.startSampleService({});
    const known = (await connectors.listConnectors({})).connectors.find((one) => one.url === url);
    const { id } =
      known ?? (await connectors.createConnector({ body: { name, url } }, { idempotencyKey: crypto.randomUUID() }));
    touch(id);
    const bots = await client.fetchQuery(queries.connectorBots(id));
    const able = bots.find(({ reason }) => reason === null);
    const bot = able ?? bots[0];
    // Its last bot has just been removed: the connector is there, and says what to do with it.
    if (bot === undefined) return go({ connector: id });
    const { subscription } = await connectors.subscribeToConnectorEvent({
      params: { id },
      body: {
        name: 'order.placed',
        arguments: {},
        botId: bot.id,
        executionMode: 'REQUIRE_APPROVAL',
        ...(able === undefined ? {} : { automation: { botId: bot.id, instructions: rule } }),
      },
    });
    await connectors.placeSampleOrder({ body: { item: 'a box of paper', country: 'AT' } });
    touch(id);
    go({ connector: id, sub: subscription.id });
  });
  if (!hasBots) {
    return (
      <p>
        A sample shop comes with Gantry. To try it, start a bot on the{' '}
        <Link to="/floor" className="rounded-control text-accent underline">
          floor
        </Link>{' '}
        first.
      </p>
    );
  }
  return (
    <div className="flex flex-col items-start gap-2">
      <p>
        Try it with a sample: Gantry starts a small shop on this computer and places an order, which becomes a ticket.{' '}
        {hasWorker
          ? 'The job that its rule proposes waits for your approval.'
          : 'Your bots are shells or in a sandbox, and only get the ticket. A hosted bot, or an agent program outside of a sandbox, also gets a job that waits for your approval.'}
      </p>
      <Button disabled={attempt.busy} onClick={() => attempt.run()}>
        {attempt.busy ? 'Connecting' : 'Try the sample shop'}
      </Button>
      {attempt.failure !== null && <Problem error={attempt.failure} />}
    </div>
  );
}
