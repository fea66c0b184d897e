/** Quiet hours, what comes through in them, the digest afterwards, and bots that nothing is pushed about. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Quiet, QuietHours } from '../../../contracts/notifications/quiet.ts';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Switch } from '../../ui/switch.tsx';
import { type Act, useAct } from '../../ui/use-act.ts';
import { control, Setting } from './parts.tsx';

type Change = Partial<Quiet>;

const night = (): QuietHours => ({
  from: '22:00',
  to: '07:00',
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
});

export function QuietCards({ told }: { told: boolean }) {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const quiet = useQuery({ ...queries.quiet, staleTime: 0 });
  const act = useAct(async (change: Change) => {
    client.setQueryData(keys.quiet, await api.notifications.setNotificationQuiet({ body: change }));
  });
  return (
    <>
      <Card title="Quiet hours">
        {act.failure !== null && <Problem error={act.failure} />}
        <ListStates
          source={quiet}
          told={told}
          skeleton={<SkeletonRows count={2} height={60} />}
          isEmpty={() => false}
          empty={null}
        >
          {(data) => <Hours quiet={data} act={act} />}
        </ListStates>
      </Card>
      {quiet.data !== undefined && <MutedBots muted={quiet.data.mutedBots} act={act} />}
    </>
  );
}

function Hours({ quiet, act }: { quiet: Quiet; act: Act<[Change]> }) {
  const { quietHours, questions, digest } = quiet;
  return (
    <>
      <Setting
        name="Hold pushes back"
        effect={
          quietHours === null
            ? 'Pushes reach you at any time.'
            : `Every day by the clocks of ${quietHours.timezone}. The inbox lists everything as usual.`
        }
      >
        <span className="flex flex-wrap items-center gap-2">
          {quietHours !== null &&
            (['from', 'to'] as const).map((end) => (
              <label key={end} className="flex items-center gap-1.5 text-muted">
                {end === 'from' ? 'From' : 'to'}
                <input
                  type="time"
                  // A change from elsewhere shows; what is typed counts once the field is left.
                  key={quietHours[end]}
                  defaultValue={quietHours[end]}
                  disabled={act.busy}
                  onBlur={({ target: { value } }) => {
                    if (value !== '' && value !== quietHours[end])
                      act.run({ quietHours: { ...quietHours, [end]: value } });
                  }}
                  className={control}
                />
              </label>
            ))}
          <Switch
            label="Hold pushes back in quiet hours"
            on={quietHours !== null}
            disabled={act.busy}
            onChange={(on) => act.run({ quietHours: on ? night() : null })}
          />
        </span>
      </Setting>
      {quietHours !== null && (
        <>
          <Setting name="Questions come through" effect="Approvals, and bots that cannot continue without you.">
            <Switch
              label="Questions come through"
              on={questions}
              disabled={act.busy}
              onChange={(on) => act.run({ questions: on })}
            />
          </Setting>
          <Setting name="Digest" effect="One push at the end says how many notifications were held back.">
            <Switch
              label="Digest after quiet hours"
              on={digest}
              disabled={act.busy}
              onChange={(on) => act.run({ digest: on })}
            />
          </Setting>
        </>
      )}
    </>
  );
}

function MutedBots({ muted, act }: { muted: readonly string[]; act: Act<[Change]> }) {
  const bots = useBots();
  if (bots.length === 0) return null;
  return (
    <Card title="Push me about" aside={muted.length === 0 ? 'all bots' : undefined}>
      <FirstRows rows={bots} first={10} what="bots">
        {(shown) =>
          shown.map((bot) => (
            <Setting
              key={bot.id}
              name={bot.address}
              effect={muted.includes(bot.id) ? 'Muted: only listed in the inbox.' : 'Pushed.'}
            >
              <Switch
                label={`Push about ${bot.address}`}
                on={!muted.includes(bot.id)}
                disabled={act.busy}
                onChange={(on) => act.run({ mutedBots: on ? muted.filter((id) => id !== bot.id) : [...muted, bot.id] })}
              />
            </Setting>
          ))
        }
      </FirstRows>
    </Card>
  );
}
