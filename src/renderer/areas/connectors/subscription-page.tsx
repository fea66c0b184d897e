/** One subscription: its state and what to do about it; its events with their trail, its rules, and their jobs. */
import { useQuery } from '@tanstack/react-query';
import { Pencil, Unplug } from 'lucide-react';
import { useState } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import { JobStatus } from '../../../contracts/connectors/rule.ts';
import { executionModes, type Subscription } from '../../../contracts/connectors/subscription.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Fact } from '../../ui/fact.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Status, subscriptionStatus } from '../../ui/status.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { useAct } from '../../ui/use-act.ts';
import { Ways } from '../../ui/ways.tsx';
import { BotField, ModeChoice } from './bot-fields.tsx';
import { ConnectorRemedy } from './connector-health.tsx';
import { adviceOf, argumentWords, mayRetry, modeWords } from './connector-words.ts';
import { JobList } from './job-list.tsx';
import { RuleList } from './rule-list.tsx';
import type { ConnectorsSearch } from './search.ts';
import { Trail } from './trail.tsx';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';
import type { WithinConnector } from './within.ts';

export function SubscriptionPage({
  id,
  connector,
  go,
  onBack,
  sub,
  search,
}: WithinConnector & { sub: string; search: ConnectorsSearch }) {
  const { queries } = useConnectorServices();
  const events = useQuery(queries.connectorEvents(id));
  const one = events.data?.subscriptions.find((each) => each.id === sub);
  const ended = events.data?.archivedSubscriptions.find((each) => each.id === sub);
  const part = ended === undefined ? (search.part ?? 'events') : 'runs';
  const status = JobStatus.safeParse(search.state).data;
  return (
    <>
      <OpenBar
        back={`Back to ${connector?.name ?? 'the connector'}`}
        onBack={onBack}
        within={connector === undefined ? undefined : { name: connector.name, onOpen: () => go({ connector: id }) }}
        title={one?.name ?? ended?.name ?? 'Subscription'}
      >
        {one !== undefined && (
          <span role="status">
            <Status look={subscriptionStatus[one.status]} wire={one.status} />
          </span>
        )}
      </OpenBar>
      <ListStates
        source={events}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={() => one === undefined && ended === undefined}
        empty={
          <Empty action={<Button onClick={onBack}>Show subscriptions</Button>}>
            This subscription was not found. It may have ended.
          </Empty>
        }
      >
        {() => (
          <div className="min-w-0">
            {one !== undefined ? (
              <About subscription={one} connector={connector} onEnded={() => go({ connector: id }, true)} />
            ) : (
              <p className="border-b border-line p-3 text-muted">
                This subscription has ended. Its jobs stay readable.
              </p>
            )}
            <div className="flex h-10 items-center border-b border-line bg-panel px-3 pointer-coarse:h-12">
              <Ways
                label="View"
                start
                value={part}
                ways={[
                  { key: 'events', word: 'Events', disabled: one === undefined },
                  { key: 'rules', word: 'Rules', disabled: one === undefined },
                  { key: 'runs', word: 'Jobs' },
                ]}
                onChange={(next) => go({ connector: id, sub, ...(next === 'events' ? {} : { part: next }) }, true)}
              />
            </div>
            {part === 'events' ? (
              <Trail
                id={id}
                sub={sub}
                cursor={search.cursor}
                onCursor={(cursor) => go({ connector: id, sub, cursor })}
                onJob={(job) => go({ connector: id, sub, run: job })}
              />
            ) : part === 'rules' && one !== undefined ? (
              <RuleList subscription={one} onJobs={() => go({ connector: id, sub, part: 'runs' })} />
            ) : (
              <JobList
                id={id}
                sub={sub}
                status={status}
                cursor={search.cursor}
                onNarrow={({ status: state, cursor }) => go({ connector: id, sub, part: 'runs', state, cursor })}
                onOpen={(job) => go({ connector: id, sub, run: job })}
              />
            )}
          </div>
        )}
      </ListStates>
    </>
  );
}

function About({
  subscription,
  connector,
  onEnded,
}: {
  subscription: Subscription;
  connector: WithinConnector['connector'];
  onEnded: () => void;
}) {
  const { api } = useConnectorServices();
  const touch = useTouchConnector();
  const nameOf = useNameOfBot();
  const [open, setOpen] = useState<'change' | 'end' | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const { id, connectorId, name, error, status } = subscription;
  const again = useAct(async () => {
    try {
      await api.connectors.subscribeToConnectorEvent({ params: { id: connectorId }, body: identity(subscription) });
    } catch (problem) {
      // What is wrong now stands in the subscription.
      if (!(problem instanceof AppError) || problem.options.extra?.subscription === undefined) throw problem;
    } finally {
      touch(connectorId);
    }
  });
  const advice = adviceOf(subscription);
  const trouble = failure ?? again.failure;
  return (
    <section aria-label={`Subscription to ${name}`} className="flex flex-col gap-3 border-b border-line p-3">
      <div className="flex flex-wrap items-center gap-2">
        <p className="min-w-0 flex-1 basis-40 break-words">
          {argumentWords(subscription.arguments) ?? <span className="text-muted">All events: no arguments.</span>}
        </p>
        <span className="inline-flex gap-2">
          <Button icon={Pencil} kind="quiet" onClick={() => setOpen('change')}>
            Change
          </Button>
          <Button icon={Unplug} kind="danger" onClick={() => setOpen('end')}>
            End
          </Button>
        </span>
      </div>
      {trouble !== null && <Problem error={trouble} />}
      {advice !== null && (
        <Trouble
          of="subscription"
          needsPerson={status === 'needs_reauth'}
          remedy={
            status === 'needs_reauth' && connector !== undefined ? (
              <ConnectorRemedy connector={connector} onFailure={setFailure} primary />
            ) : mayRetry(subscription) ? (
              <Button onClick={() => again.run()} disabled={again.busy}>
                Try again
              </Button>
            ) : null
          }
        >
          {error !== null && <span title={error.reason}>{error.message} </span>}
          <span className="text-muted">{advice}</span>
        </Trouble>
      )}
      <dl className="grid max-w-[860px] gap-x-6 gap-y-1 md:grid-cols-2">
        <Fact name="Bot">{nameOf(subscription.botId)}</Fact>
        <Fact name="Events">
          <span className="tabular-nums">{subscription.eventCount}</span>
          {subscription.lastEventAt !== null && (
            <span className="text-muted">
              , last <Ago at={subscription.lastEventAt} />
            </span>
          )}
        </Fact>
        <Fact name="Mode">
          <span title={modeWords[subscription.executionMode].says}>{modeWords[subscription.executionMode].word}</span>
        </Fact>
        <Fact name="Renewed by">
          {subscription.refreshBefore === null ? (
            <span className="text-muted">not active</span>
          ) : (
            <Moment at={subscription.refreshBefore} />
          )}
        </Fact>
        <Fact name="Created">
          <Ago at={subscription.createdAt} />
        </Fact>
        <Fact name="Id">
          <ShortId id={id} />
        </Fact>
      </dl>
      {subscription.historyLostAt !== null && (
        <p className="text-muted">
          The server reported that events from before <Moment at={subscription.historyLostAt} /> may be missing.
        </p>
      )}
      {subscription.expiredCount > 0 && (
        <p className="text-muted">
          {countWords(subscription.expiredCount, 'event')} waited 24 hours for this computer and expired. Gantry asks
          the server for {subscription.expiredCount === 1 ? 'it' : 'them'} at the next renewal.
        </p>
      )}
      {open === 'change' && <ChangeDialog subscription={subscription} onClose={() => setOpen(null)} />}
      {open === 'end' && (
        <ConfirmDialog
          title={`End ${name}?`}
          description="This cannot be undone; you can subscribe to the event again."
          label="End"
          onClose={() => setOpen(null)}
          act={async () => {
            await api.connectors.endConnectorSubscription({ params: { id: connectorId, sid: id } });
            touch(connectorId);
            onEnded();
          }}
        >
          <ul className="list-disc pl-5">
            <li>The server is asked to stop sending events. Events still waiting in the cloud are dropped.</li>
            <li>Its rules are deleted and jobs that have not started are cancelled.</li>
            <li>
              {subscription.eventCount === 0
                ? 'It opened no tickets.'
                : `Tickets of its ${countWords(subscription.eventCount, 'event')} and past jobs stay readable.`}
            </li>
          </ul>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** What it is made of, as it is now: the same again refreshes it. */
const identity = ({ name, arguments: values, botId, executionMode }: Subscription) => ({
  name,
  arguments: values,
  botId,
  executionMode,
});

function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} className="tabular-nums">
      {new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
    </time>
  );
}

function ChangeDialog({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const { api, queries } = useConnectorServices();
  const touch = useTouchConnector();
  const bots = useQuery(queries.connectorBots(subscription.connectorId));
  const [botId, setBotId] = useState(subscription.botId);
  const [mode, setMode] = useState(subscription.executionMode);
  const save = useAct(async () => {
    try {
      await api.connectors.subscribeToConnectorEvent({
        params: { id: subscription.connectorId },
        body: { ...identity(subscription), botId, executionMode: mode },
      });
    } finally {
      touch(subscription.connectorId);
    }
    onClose();
  });
  return (
    <ActDialog
      title={`Change ${subscription.name}`}
      description="The bot that handles new events. Rules keep their own bot and mode."
      label="Save"
      busyLabel="Saving"
      act={save}
      ready={botId !== ''}
      onClose={onClose}
    >
      <ListStates source={bots} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
        {(list) => (
          <div className="flex flex-col gap-3">
            <BotField bots={list} runs={false} value={botId} problem={undefined} onChange={setBotId} />
            <ModeChoice modes={executionModes} value={mode} onChange={setMode} />
          </div>
        )}
      </ListStates>
    </ActDialog>
  );
}
