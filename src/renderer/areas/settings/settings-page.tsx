/** Settings of this browser, and what is known of this computer. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useServices, useSettings } from '../../app/services.tsx';
import { defaultSettings, type Settings, themes } from '../../data/settings.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { CheckRow } from '../home/harness-card.tsx';

const themeWords = { system: 'As the computer has it', dark: 'Dark', light: 'Light' } as const;
const field = 'h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10';

function Setting({
  name,
  effect,
  source,
  children,
}: {
  name: string;
  effect: string;
  source: string;
  children: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-3 py-2.5 last:border-b-0">
      <div className="min-w-52 flex-1">
        <p className="font-medium">
          {name} <span className="pl-1 font-normal text-meta text-faint">{source}</span>
        </p>
        <p className="text-muted">{effect}</p>
      </div>
      {children}
    </div>
  );
}

export function SettingsPage() {
  const { settings, queries, api } = useServices();
  const values = useSettings();
  const client = useQueryClient();
  const workspace = useQuery(queries.workspace);
  const session = useQuery(queries.session);
  const doctor = useQuery(queries.doctor);
  const source = (name: keyof Settings): string =>
    values[name] === defaultSettings[name] ? 'default' : 'this browser';
  return (
    <main className="min-w-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-[760px] flex-col gap-4 p-4 sm:p-6">
        <h1 className="text-page font-semibold">Settings</h1>
        <Card title="Appearance" aside="kept in this browser">
          <Setting name="Theme" effect="Colours of every page and terminal." source={source('theme')}>
            <select
              aria-label="Theme"
              value={values.theme}
              onChange={(event) =>
                settings.set({ theme: themes.find((one) => one === event.target.value) ?? 'system' })
              }
              className={field}
            >
              {themes.map((theme) => (
                <option key={theme} value={theme}>
                  {themeWords[theme]}
                </option>
              ))}
            </select>
          </Setting>
          <Setting
            name="Terminal font size"
            effect="In pixels; a pane you type in is fitted anew."
            source={source('terminalFontSize')}
          >
            <input
              type="number"
              aria-label="Terminal font size"
              min={9}
              max={24}
              step={0.5}
              value={values.terminalFontSize}
              onChange={(event) => {
                const size = event.target.valueAsNumber;
                if (size >= 9 && size <= 24) settings.set({ terminalFontSize: size });
              }}
              className={`${field} w-20`}
            />
          </Setting>
          <Setting
            name="Terminal drawing"
            effect="The graphics card draws faster; plain elements work everywhere."
            source={source('terminalRenderer')}
          >
            <select
              aria-label="Terminal drawing"
              value={values.terminalRenderer}
              onChange={(event) => settings.set({ terminalRenderer: event.target.value === 'dom' ? 'dom' : 'auto' })}
              className={field}
            >
              <option value="auto">Graphics card if it works</option>
              <option value="dom">Plain elements</option>
            </select>
          </Setting>
          <Setting name="Screen reader" effect="Terminals read out what they print." source={source('screenReader')}>
            <input
              type="checkbox"
              aria-label="Screen reader"
              checked={values.screenReader}
              onChange={(event) => settings.set({ screenReader: event.target.checked })}
              className="size-4 accent-accent"
            />
          </Setting>
        </Card>
        <Card title="This computer">
          <ListStates source={workspace} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
            {(data) => (
              <dl className="grid grid-cols-[110px_1fr] gap-x-3 gap-y-1 px-3 py-2.5">
                <dt className="text-muted">Name</dt>
                <dd>{session.data?.computer?.name ?? ''}</dd>
                <dt className="text-muted">Workspace</dt>
                <dd className="font-mono text-code break-all">{data.path}</dd>
                <dt className="text-muted">Computer id</dt>
                <dd>
                  <ShortId id={data.computerId} />
                </dd>
                <dt className="text-muted">Engine id</dt>
                <dd>
                  <ShortId id={data.engineId} />
                </dd>
                <dt className="text-muted">Version</dt>
                <dd>{session.data?.version ?? ''}</dd>
              </dl>
            )}
          </ListStates>
        </Card>
        <Card title="What is installed" aside="gantry doctor shows the same">
          <ListStates
            source={doctor}
            skeleton={<SkeletonRows count={6} height={40} />}
            isEmpty={() => false}
            empty={null}
          >
            {(data) => (
              <ul>
                {data.checks.map((check) => (
                  <CheckRow key={`${check.group} ${check.name}`} check={check} />
                ))}
              </ul>
            )}
          </ListStates>
        </Card>
        <Card title="This browser">
          <div className="flex flex-wrap items-center gap-3 px-3 py-2.5">
            <p className="min-w-0 flex-1 text-muted">
              Signed in as {session.data?.name ?? 'the owner'}. Signing out forgets this browser; a new address lets it
              in again.
            </p>
            <Button
              onClick={() => {
                void api.identity.endSession().then(() => {
                  api.renewSession();
                  client.clear();
                  // The words of sent messages are the person's, not the browser's.
                  sessionStorage.clear();
                  window.location.assign('/');
                });
              }}
            >
              Sign out
            </Button>
          </div>
        </Card>
      </div>
    </main>
  );
}
