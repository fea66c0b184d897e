/** Notifications: what can reach the person now, this browser, their other devices, and which events are pushed. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleX, Clock } from 'lucide-react';
import { useState } from 'react';
import type { PushDevice } from '../../../contracts/notifications/push.ts';
import type { PushState } from '../../base/data/browser-push.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { describeProblem } from '../../ui/describe-problem.ts';
import { Empty, type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { type Act, useAct } from '../../ui/use-act.ts';
import { Chip, Facts, Setting } from './parts.tsx';
import { PreferencesCard } from './preferences-card.tsx';
import { QuietCards } from './quiet-cards.tsx';
import {
  deviceOutcomeWords,
  outcomeWords,
  type Reach,
  type ReachLine,
  reachLines,
  reachSummary,
} from './reach-words.ts';

/** Devices and what became of the last push change without an event; ms. */
const reachEvery = 10_000;

export function NotificationsPage() {
  const { queries, browserPush, keys, desktop } = useServices();
  const devices = useQuery({ ...queries.pushDevices, staleTime: 0, refetchInterval: reachEvery });
  const reach = useQuery({ ...queries.reach, staleTime: 0, refetchInterval: reachEvery });
  const preferences = useQuery({ ...queries.preferences, staleTime: 0 });
  const browser = useQuery({
    queryKey: keys.browserPush,
    queryFn: () => browserPush.state(),
    staleTime: 0,
    // The person may change what is allowed in the browser's own settings, and come back.
    refetchOnWindowFocus: 'always',
  });
  // Subscribed is not enough: the server must know this browser still.
  const forgotten =
    devices.data !== undefined && !devices.data.devices.some((one) => one.id === browserPush.deviceId());
  const state = browser.data === 'on' && forgotten ? 'off' : browser.data;
  const sources = [reach, devices, preferences];
  // All three are asked of home: that it is away is said once.
  const told = sources.every(({ error }) => isSame(error, reach.error));
  const shown = (source: ListSource<unknown>): boolean => !told || source.data !== undefined;
  return (
    <>
      {told && (
        <Problem
          error={reach.error}
          failures={reach.errorUpdateCount - 1}
          onRetry={() => void Promise.all(sources.map((source) => source.refetch()))}
        />
      )}
      {shown(reach) && <ReachCard source={reach} told={told} devices={devices.data?.devices ?? []} browser={state} />}
      {desktop === null ? <ThisBrowserCard state={state} /> : <ThisAppCard />}
      {shown(devices) && <DevicesCard source={devices} told={told} />}
      {shown(preferences) && <PreferencesCard told={told} />}
      {shown(preferences) && <QuietCards told={told} />}
    </>
  );
}

function isSame(error: unknown, other: unknown): boolean {
  return error !== null && other !== null && describeProblem(error).fact === describeProblem(other).fact;
}

const ways = {
  yes: { icon: CircleCheck, tone: 'text-ink', word: 'Reaches you' },
  no: { icon: CircleX, tone: 'text-muted', word: 'Does not reach you' },
  later: { icon: Clock, tone: 'text-muted', word: 'Reaches you later' },
} as const;

function ReachCard({
  source,
  told,
  devices,
  browser,
}: {
  source: ListSource<Reach>;
  told: boolean;
  devices: readonly PushDevice[];
  browser: PushState | undefined;
}) {
  const { queries } = useServices();
  const titles = useQuery(queries.preferences).data?.preferences;
  const titleOf = (event: string): string => titles?.find((one) => one.event === event)?.title ?? event;
  return (
    <Card title="What can reach you now">
      <ListStates source={source} told={told} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
        {(data) => (
          <div className="flex flex-col gap-2 px-3 py-2.5" data-reach="true">
            <p className="font-medium">{reachSummary(data, devices)}</p>
            <ul className="flex flex-col gap-1">
              {reachLines(data, devices, browser).map((line) => (
                <ReachRow key={line.key} line={line} />
              ))}
            </ul>
            {data.lastOutcome !== null && (
              <p className="text-meta text-muted">
                The latest event ({titleOf(data.lastOutcome.event)}) {outcomeWords[data.lastOutcome.outcome]},{' '}
                <Ago at={data.lastOutcome.at} />.
              </p>
            )}
          </div>
        )}
      </ListStates>
    </Card>
  );
}

function ReachRow({ line }: { line: ReachLine }) {
  const way = ways[line.way];
  return (
    <li className={`flex gap-2 ${way.tone}`}>
      <way.icon className="mt-[3px] size-3.5 shrink-0" aria-hidden="true" />
      <span className="min-w-0 break-words">
        <span className="sr-only">{way.word}: </span>
        {line.text}
        {line.at !== undefined && (
          <>
            {' '}
            (<Ago at={line.at} />)
          </>
        )}
      </span>
    </li>
  );
}

const stateWords: Readonly<Record<PushState, string>> = {
  insecure: 'Browsers allow push only over https or on this computer itself. Open Gantry over https to use it.',
  unsupported:
    'This browser does not support push. On a phone, first add the page to the home screen; otherwise use another browser.',
  denied: 'This browser blocks notifications from this page. Allow them next to the address, then come back here.',
  off: 'Push is off in this browser. When it is on, approvals come with buttons to answer them.',
  on: 'This browser receives pushes, even while no Gantry tab is open.',
};

/** Reads the state of pushes again, whatever the result. */
function usePushAct(): Act<[() => Promise<unknown>]> {
  const { keys } = useServices();
  const client = useQueryClient();
  return useAct(async (act) => {
    try {
      await act();
    } finally {
      for (const queryKey of [keys.browserPush, keys.pushDevices, keys.reach])
        void client.invalidateQueries({ queryKey });
    }
  });
}

function ThisBrowserCard({ state }: { state: PushState | undefined }) {
  const { browserPush } = useServices();
  const { busy, failure, run } = usePushAct();
  return (
    <Card title="This browser">
      {state === undefined ? (
        <SkeletonRows count={1} height={60} />
      ) : (
        <Setting name="Push" effect={stateWords[state]}>
          {state === 'off' && (
            <Button kind="primary" disabled={busy} onClick={() => run(browserPush.turnOn)}>
              {busy ? 'Asking the push service' : 'Switch on'}
            </Button>
          )}
          {state === 'on' && (
            <Button disabled={busy} onClick={() => run(browserPush.turnOff)}>
              Switch off
            </Button>
          )}
        </Setting>
      )}
      {failure !== null && <Problem error={failure} />}
    </Card>
  );
}

/** Electron has no push: the app shows notifications without it. */
function ThisAppCard() {
  return (
    <Card title="This app">
      <Setting name="System notifications" effect="The app shows notifications while it runs.">
        <Link to="/settings/desktop" className="rounded-control text-accent underline">
          Choose which
        </Link>
      </Setting>
    </Card>
  );
}

function DevicesCard({ source, told }: { source: ListSource<{ devices: PushDevice[] }>; told: boolean }) {
  return (
    <Card title="Devices" aside={source.data === undefined ? undefined : `${source.data.devices.length}`}>
      <ListStates
        source={source}
        told={told}
        skeleton={<SkeletonRows count={2} height={52} />}
        isEmpty={(data) => data.devices.length === 0}
        empty={
          <Empty>
            Browsers and phones that receive pushes appear here. Open Gantry on each and switch push on there.
          </Empty>
        }
      >
        {(data) => (
          <ul>
            {data.devices.map((device) => (
              <DeviceRow key={device.id} device={device} />
            ))}
          </ul>
        )}
      </ListStates>
    </Card>
  );
}

function DeviceRow({ device }: { device: PushDevice }) {
  const { api, browserPush } = useServices();
  const [said, setSaid] = useState<string | null>(null);
  const { busy, failure, run } = usePushAct();
  const here = device.id === browserPush.deviceId();
  return (
    <li className="border-b border-line px-3 py-2 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-52">
          <p className="flex flex-wrap items-center gap-x-2">
            <span className="min-w-0 break-words font-medium">{device.name}</span>
            {here && <Chip>this browser</Chip>}
          </p>
          <Facts>
            <span>
              added <Ago at={device.createdAt} />
            </span>
            <span>{device.lastOutcome === null ? 'nothing sent yet' : deviceOutcomeWords[device.lastOutcome]}</span>
            {device.lastSentAt !== null && (
              <span>
                <Ago at={device.lastSentAt} />
              </span>
            )}
          </Facts>
        </div>
        <Button
          disabled={busy}
          aria-label={`Send a test to ${device.name}`}
          onClick={() =>
            run(async () => {
              setSaid(null);
              const { outcome, detail } = await api.notifications.testPush({ body: { deviceId: device.id } });
              const words =
                outcome === 'sent' ? 'Its push service accepted the test.' : `${deviceOutcomeWords[outcome]}.`;
              setSaid(detail === null ? words : `${words} ${detail}`);
            })
          }
        >
          Send a test
        </Button>
        <Button
          kind="danger"
          disabled={busy}
          aria-label={`Remove ${device.name}`}
          onClick={() =>
            run(async () => {
              if (here) await browserPush.turnOff();
              else await api.notifications.removePushDevice({ params: { id: device.id } });
            })
          }
        >
          Remove
        </Button>
      </div>
      {said !== null && (
        <p role="status" className="pt-1 break-words text-muted first-letter:uppercase">
          {said}
        </p>
      )}
      {failure !== null && <Problem error={failure} />}
    </li>
  );
}
