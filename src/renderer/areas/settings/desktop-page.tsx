/** Settings of the desktop program, shown only inside it. */
import { useSyncExternalStore } from 'react';
import {
  type DesktopAct,
  type DesktopChange,
  type DesktopState,
  notificationChoices,
} from '../../../contracts/desktop/channels.ts';
import type { Desktop } from '../../base/data/desktop.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Empty, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useAct } from '../../ui/use-act.ts';
import { control, Setting } from './parts.tsx';

const choiceWords = {
  'unless-pushed': 'Unless pushed elsewhere',
  all: 'All',
  none: 'None',
} as const;

export function DesktopPage() {
  const { desktop } = useServices();
  if (desktop === null)
    return (
      <Card title="Desktop">
        <Empty>These settings are for the desktop app. This is a browser.</Empty>
      </Card>
    );
  return <InApp desktop={desktop} />;
}

function InApp({ desktop }: { desktop: Desktop }) {
  const state = useSyncExternalStore(desktop.subscribe, desktop.state);
  const { busy, failure, run } = useAct((work: () => Promise<void>) => work());
  if (state === null)
    return (
      <Card title="This app">
        <SkeletonRows count={3} height={52} />
      </Card>
    );
  const change = (wanted: DesktopChange): void => run(() => desktop.change(wanted));
  const act = (wanted: DesktopAct): void => run(() => desktop.act(wanted));
  return (
    <>
      {failure !== null && <Problem error={failure} />}
      <ThisApp state={state} busy={busy} change={change} />
      <Updates update={state.update} busy={busy} act={act} />
      <Card title="Logs">
        <Setting
          name="Files"
          effect={
            <>
              In <span className="font-mono text-code break-all">{state.logs}</span>. Tokens and keys are removed from
              them.
            </>
          }
        >
          <Button disabled={busy} onClick={() => act('open-logs')}>
            Open logs
          </Button>
        </Setting>
      </Card>
    </>
  );
}

function ThisApp({
  state: { settings, servers, hasTray, canOpenAtLogin },
  busy,
  change,
}: {
  state: DesktopState;
  busy: boolean;
  change: (wanted: DesktopChange) => void;
}) {
  return (
    <Card title="This app">
      <Setting
        name="Notifications"
        effect="Your system shows them while no Gantry window is in front. Choose the events under Notifications."
      >
        <select
          aria-label="Notifications"
          value={settings.notifications}
          disabled={busy}
          onChange={(event) =>
            change({ notifications: notificationChoices.find((one) => one === event.target.value) ?? 'unless-pushed' })
          }
          className={control}
        >
          {notificationChoices.map((choice) => (
            <option key={choice} value={choice}>
              {choiceWords[choice]}
            </option>
          ))}
        </select>
      </Setting>
      <Setting
        name="Stay in the tray"
        effect={
          hasTray
            ? 'Closing the last window leaves Gantry running. The tray shows what runs and who needs you.'
            : 'This desktop has no tray. Closing the last window quits the app.'
        }
      >
        {hasTray && (
          <Switch
            label="Stay in the tray"
            on={settings.closeToTray}
            disabled={busy}
            onChange={(closeToTray) => change({ closeToTray })}
          />
        )}
      </Setting>
      {canOpenAtLogin && (
        <Setting name="Start when you sign in" effect="Starts in the tray, without a window.">
          <Switch
            label="Start when you sign in"
            on={settings.openAtLogin}
            disabled={busy}
            onChange={(openAtLogin) => change({ openAtLogin })}
          />
        </Setting>
      )}
      <Setting
        name="Servers"
        effect={
          servers === 'own'
            ? 'They run in this app and stop with it. Bots and their panes keep running.'
            : 'They run in another program and keep running without this app.'
        }
      />
    </Card>
  );
}

function Updates({
  update,
  busy,
  act,
}: {
  update: DesktopState['update'];
  busy: boolean;
  act: (wanted: DesktopAct) => void;
}) {
  const check = update.kind === 'current' || update.kind === 'failed';
  return (
    <Card title="Updates">
      <Setting name={updateName(update)} effect={<UpdateEffect update={update} />}>
        {check && (
          <Button disabled={busy} onClick={() => act('check-updates')}>
            Check for updates
          </Button>
        )}
        {update.kind === 'ready' && (
          <Button kind="primary" disabled={busy} onClick={() => act('install-update')}>
            Install and restart
          </Button>
        )}
      </Setting>
    </Card>
  );
}

function updateName(update: DesktopState['update']): string {
  switch (update.kind) {
    case 'off':
      return 'Off';
    case 'current':
      return update.checkedAt === null ? 'Not checked yet' : 'Gantry is up to date';
    case 'checking':
      return 'Checking for updates';
    case 'downloading':
      return `Downloading ${update.version}`;
    case 'ready':
      return `${update.version} is ready`;
    case 'installing':
      return `Installing ${update.version}`;
    case 'failed':
      return 'The last check failed';
  }
}

function UpdateEffect({ update }: { update: DesktopState['update'] }) {
  switch (update.kind) {
    case 'off':
      return update.why;
    case 'current':
      return update.checkedAt === null ? (
        'Gantry checks every four hours while the app runs.'
      ) : (
        <>
          Checked <Ago at={update.checkedAt} />. Gantry checks every four hours.
        </>
      );
    case 'checking':
      return 'Asking the update feed for a new version.';
    case 'downloading':
      return (
        <span className="flex flex-wrap items-center gap-2">
          <ProgressBar done={update.percent} total={100} label="Download" />
          {update.percent} % downloaded. Nothing changes until you install it.
        </span>
      );
    case 'ready':
      return update.waits === null
        ? 'Gantry installs it when you say so, and only while nothing runs.'
        : `Not installed: ${update.waits}. Try again once nothing runs.`;
    case 'installing':
      return 'The app closes and reopens.';
    case 'failed':
      return update.why;
  }
}
