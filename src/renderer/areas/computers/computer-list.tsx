/** The person's own computers, and the hosted ones of their project. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Server, Settings2 } from 'lucide-react';
import { useRef, useState } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import { type HostedComputer, maxNameLength } from '../../../contracts/hosted-computers/computer.ts';
import { PlaceState, useHere } from '../../base/computers.tsx';
import { useFloors } from '../../base/floors.tsx';
import { PlaceRow, placeRowHeight } from '../../base/place-frame.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Check, Choice } from '../../ui/choice.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { hostedStatus, Status } from '../../ui/status.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { CreateLimits, noLimits, useLimits } from './create-limits.tsx';
import { HostedSettings } from './hosted-settings.tsx';
import type { ComputersSearch } from './search.ts';
import { useHandsServices } from './use-hands-services.ts';

export type Go = (change: Partial<ComputersSearch> & { computer?: string | undefined }) => void;

export function ComputerList({ hosted, pool, go }: { hosted: string | null; pool: boolean; go: Go }) {
  const { queries } = useHandsServices();
  const here = useHere();
  const places = useFloors().map((floor) => floor.place);
  const settings = useQuery(queries.hostedSettings);
  const enabled = settings.data?.hosted_driver_enabled === true;
  const list = useQuery({ ...queries.hostedList, enabled });
  const [dialog, setDialog] = useState<'create' | 'settings' | null>(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div onKeyDown={moveByArrows}>
      <h2 className="px-3 pt-2 text-meta text-muted">Yours</h2>
      <ul className="py-1">
        {places.map((place) => (
          <PlaceRow
            key={place.id}
            mark={{ 'data-own': place.id }}
            selected={hosted === null && !pool && place.id === here.id}
            onOpen={() => go({ computer: place.scope ?? undefined })}
          >
            <span className="w-full truncate font-medium">{place.name}</span>
            <PlaceState place={place} />
          </PlaceRow>
        ))}
      </ul>
      {places.length < 2 && <PairMore />}
      <div className="flex items-center border-t border-line pt-1 pr-2 pl-3">
        <h2 className="flex-1 text-meta text-muted">Hosted</h2>
        {enabled && (
          <>
            <IconButton
              label="Where computers are made"
              data-pool="1"
              aria-pressed={pool}
              onClick={() => go({ pool: '1' })}
            >
              <Server aria-hidden="true" />
            </IconButton>
            <IconButton label="Hosted computer settings" onClick={() => setDialog('settings')}>
              <Settings2 aria-hidden="true" />
            </IconButton>
            <IconButton label="Create a hosted computer" onClick={() => setDialog('create')}>
              <Plus aria-hidden="true" />
            </IconButton>
          </>
        )}
      </div>
      {settings.data !== undefined && !enabled ? (
        <Empty>Hosted computers are off for your project. Ask your administrator to turn them on.</Empty>
      ) : settings.error !== null && isUnbuilt(settings.error) ? (
        <Empty>This Gantry hosts no computers.</Empty>
      ) : (
        <ListStates
          source={settings.error === null ? list : { ...settings, data: undefined }}
          skeleton={<SkeletonRows count={2} height={placeRowHeight} />}
          isEmpty={(data) => data.length === 0}
          empty={
            <Empty action={<Button onClick={() => setDialog('create')}>Create a computer</Button>}>
              Computers that Gantry hosts for your programs appear here, with their usage.
            </Empty>
          }
        >
          {(hostedOnes) => (
            <ul className="py-1">
              {hostedOnes.map((one) => (
                <HostedRow
                  key={one.id}
                  computer={one}
                  selected={one.id === hosted}
                  onOpen={() => go({ hosted: one.id })}
                />
              ))}
            </ul>
          )}
        </ListStates>
      )}
      {dialog === 'create' && (
        <CreateHosted
          onClose={() => setDialog(null)}
          onCreated={(made) => {
            setDialog(null);
            go({ hosted: made.id });
          }}
        />
      )}
      {dialog === 'settings' && settings.data !== undefined && (
        <HostedSettings settings={settings.data} onClose={() => setDialog(null)} />
      )}
    </div>
  );
}

/** What another computer is good for, and the command that brings it here. */
function PairMore() {
  const { queries } = useHandsServices();
  const mode = useQuery(queries.session).data?.mode;
  if (mode === undefined) return null;
  const isCloud = mode === 'headless';
  return (
    <Empty action={<Command text={`npx gantry pair ${isCloud ? window.location.origin : 'https://gantry.example'}`} />}>
      {isCloud
        ? 'The bots, runs and files of every computer that you pair appear here. Run this on the other computer:'
        : 'At a Gantry cloud, all your computers appear in one place, and you reach them from your phone. Run this with the address of your cloud, or pair in '}
      {!isCloud && (
        <>
          <Link to="/settings/computers" className="rounded-control text-accent underline">
            Settings
          </Link>
          :
        </>
      )}
    </Empty>
  );
}

/** An older server, or one of which this part was left out. */
const isUnbuilt = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'not_found' || error.options.extra?.httpStatus === 501);

function HostedRow({
  computer,
  selected,
  onOpen,
}: {
  computer: HostedComputer;
  selected: boolean;
  onOpen: () => void;
}) {
  return (
    <PlaceRow mark={{ 'data-hosted': computer.id }} selected={selected} onOpen={onOpen}>
      <span className="w-full truncate font-medium">{computer.name}</span>
      <span className="flex items-center gap-1.5 text-meta text-muted">
        <Status look={hostedStatus(computer)} wire={computer.status} />
        <span>
          · created <Ago at={computer.created_at} />
        </span>
      </span>
    </PlaceRow>
  );
}

/** Creates a hosted computer, after showing what it is and what it costs. */
function CreateHosted({ onClose, onCreated }: { onClose: () => void; onCreated: (made: HostedComputer) => void }) {
  const { api, keys } = useHandsServices();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [toolset, setToolset] = useState<HostedComputer['toolset']>('desktop');
  const [closed, setClosed] = useState(false);
  const [draft, setDraft] = useState(noLimits);
  const limits = useLimits(draft);
  /** One key for one wish: pressed again after a cut, it is the same computer. */
  const wish = useRef({ text: '', key: '' });
  const create = useAct(async () => {
    const named = name.trim() === '' ? {} : { name: name.trim() };
    const egress = closed ? ('none' as const) : ('public' as const);
    const body = { ...named, toolset, egress, ...limits.asked };
    const text = JSON.stringify(body);
    if (wish.current.text !== text) wish.current = { text, key: crypto.randomUUID() };
    const made = await api.hosted.createHostedComputer({ body }, { idempotencyKey: wish.current.key });
    client.setQueryData(keys.hosted(made.id), made);
    void client.invalidateQueries({ queryKey: keys.hostedList });
    onCreated(made);
  });
  return (
    <ActDialog
      title="Create a hosted computer"
      description="A separate computer for your programs."
      label="Create"
      busyLabel="Creating"
      act={create}
      ready={limits.ready}
      onClose={onClose}
    >
      <ActForm act={create}>
        <TextField
          label="Name"
          description="Empty: chosen for you."
          value={name}
          maxLength={maxNameLength}
          onChange={setName}
        />
        <Choice
          legend="Kind"
          name="kind"
          choices={[
            { key: 'desktop', word: 'Desktop', says: 'A screen with a browser.' },
            {
              key: 'shell',
              word: 'Shell',
              says: 'Commands and files, without a screen; starts faster and needs less memory.',
            },
          ]}
          value={toolset}
          onChange={setToolset}
        />
        <Check on={closed} onChange={setClosed}>
          Without a network
        </Check>
        <CreateLimits draft={draft} limits={limits} onChange={setDraft} />
        <ul className="list-disc pl-5 text-muted">
          <li>It starts at once. Minutes count only while it runs, not while it sleeps or is stopped.</li>
          <li>{closed ? 'It reaches nothing.' : 'It reaches only public addresses, nothing in your network.'}</li>
          <li>It sleeps when idle and wakes with the next call.</li>
        </ul>
      </ActForm>
    </ActDialog>
  );
}
