/** Settings of this browser, and facts about this computer. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useHere } from '../../base/computers.tsx';
import { defaultSettings, type Settings, themes } from '../../base/data/settings.ts';
import { useFloors } from '../../base/floors.tsx';
import { useServices, useSettings } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { Card } from '../../ui/card.tsx';
import { Command, ShortId } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { type TerminalPalette, terminalPalettes } from '../../ui/terminal/palettes.ts';
import { terminalTheme } from '../../ui/terminal/terminal-theme.ts';
import { CheckRow } from '../set-up/harness-list.tsx';
import { control, Setting } from './parts.tsx';

const paletteWords: Readonly<Record<TerminalPalette, string>> = {
  gantry: 'Gantry',
  classic: 'Classic',
  solarized: 'Solarized',
  'colour-blind': 'Colour-blind safe',
};

const themeWords = { system: 'System', dark: 'Dark', light: 'Light' } as const;

export function GeneralPage() {
  const { settings, queries } = useServices();
  const values = useSettings();
  const workspace = useQuery(queries.workspace);
  const session = useQuery(queries.session);
  const doctor = useQuery(queries.doctor);
  const here = useHere();
  const none = useFloors().length === 0;
  const own = session.data?.computer?.id === here.id;
  const source = (name: keyof Settings): string =>
    values[name] === defaultSettings[name] ? 'default' : 'this browser';
  return (
    <>
      <Card title="Appearance" aside="stored in this browser">
        <Setting name="Theme" effect="Colours of every page and terminal." source={source('theme')}>
          <select
            aria-label="Theme"
            value={values.theme}
            onChange={(event) => settings.set({ theme: themes.find((one) => one === event.target.value) ?? 'system' })}
            className={control}
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
          effect="In pixels. A pane you type in is resized."
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
            className={`${control} w-20`}
          />
        </Setting>
        <Setting
          name="Terminal colours"
          effect="Colours of the text that programs write. Light and dark follow the theme."
          source={source('terminalPalette')}
        >
          <Swatches palette={values.terminalPalette} />
          <select
            aria-label="Terminal colours"
            value={values.terminalPalette}
            onChange={(event) => {
              const chosen = terminalPalettes.find((one) => one === event.target.value);
              settings.set({ terminalPalette: chosen ?? defaultSettings.terminalPalette });
            }}
            className={control}
          >
            {terminalPalettes.map((palette) => (
              <option key={palette} value={palette}>
                {paletteWords[palette]}
              </option>
            ))}
          </select>
        </Setting>
        <Setting
          name="Terminal rendering"
          effect="The graphics card is faster; plain HTML works everywhere."
          source={source('terminalRenderer')}
        >
          <select
            aria-label="Terminal rendering"
            value={values.terminalRenderer}
            onChange={(event) => settings.set({ terminalRenderer: event.target.value === 'dom' ? 'dom' : 'auto' })}
            className={control}
          >
            <option value="auto">Graphics card if available</option>
            <option value="dom">Plain HTML</option>
          </select>
        </Setting>
        <Setting name="Screen reader" effect="Terminals read out their output." source={source('screenReader')}>
          <input
            type="checkbox"
            aria-label="Screen reader"
            checked={values.screenReader}
            onChange={(event) => settings.set({ screenReader: event.target.checked })}
            className="size-4 accent-accent pointer-coarse:size-6"
          />
        </Setting>
      </Card>
      {!none && (
        <>
          <Card title={own ? 'This computer' : here.name}>
            <ListStates source={workspace} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
              {(data) => (
                <dl className="grid grid-cols-[110px_1fr] gap-x-3 gap-y-1 px-3 py-2.5">
                  <dt className="text-muted">Name</dt>
                  <dd>{here.name}</dd>
                  <dt className="text-muted">Workspace</dt>
                  <dd className="font-mono text-code break-all">{data.path}</dd>
                  <dt className="text-muted">Computer id</dt>
                  <dd>
                    <ShortId id={data.computerId} />
                  </dd>
                  <dt className="text-muted">Runtime id</dt>
                  <dd>
                    <ShortId id={data.engineId} />
                  </dd>
                  <dt className="text-muted">Version</dt>
                  <dd>{session.data?.version ?? ''}</dd>
                  <dt className="text-muted">Backup</dt>
                  <dd className="flex flex-wrap items-center gap-x-3 gap-y-1">
                    <Command text="npx gantry backup" />
                    <Link
                      to="/docs"
                      search={{ doc: 'operating', at: 'backup' }}
                      className="rounded-control text-accent underline"
                    >
                      What it keeps, and how to restore it
                    </Link>
                  </dd>
                </dl>
              )}
            </ListStates>
          </Card>
          <Card title="What is installed" aside="npx gantry doctor shows the same">
            <ListStates
              source={doctor}
              skeleton={<SkeletonRows count={6} height={40} />}
              isEmpty={() => false}
              empty={null}
            >
              {(data) => (
                <>
                  <ul>
                    {data.checks.map((check) => (
                      <CheckRow key={`${check.group} ${check.name}`} check={check} brief={check.group === 'harness'} />
                    ))}
                  </ul>
                  <p className="border-t border-line px-3 py-2 text-muted">
                    <Link to="/settings/set-up" className="rounded-control text-accent underline">
                      Set-up
                    </Link>{' '}
                    installs agent programs and signs in to them.
                  </p>
                </>
              )}
            </ListStates>
          </Card>
        </>
      )}
    </>
  );
}

/** What the palette looks like on the ground of terminals. */
function Swatches({ palette }: { palette: TerminalPalette }) {
  const theme = terminalTheme(useScheme(), palette);
  const { foreground, red, green, yellow, blue, magenta, cyan } = theme;
  return (
    <span aria-hidden="true" className="inline-flex gap-1 rounded-control border border-line bg-terminal p-1.5">
      {[foreground, red, green, yellow, blue, magenta, cyan].map((colour) => (
        <span key={colour} className="size-3 rounded-full" style={{ background: colour }} />
      ))}
    </span>
  );
}
