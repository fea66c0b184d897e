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
import { type Saves, useSaves } from '../../ui/use-saves.ts';
import { control, Setting } from './parts.tsx';

type Save = Saves<Quiet>['save'];

const night = (): QuietHours => ({
  from: '22:00',
  to: '07:00',
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
});

export function QuietCards({ told }: { told: boolean }) {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const quiet = useQuery({ ...queries.quiet, staleTime: 0 });
  const saves = useSaves<Quiet>(async (change) => {
    client.setQueryData(keys.quiet, await api.notifications.setNotificationQuiet({ body: change }));
  });
  return (
    <>
      <Card title="Quiet hours">
        {saves.failure !== null && <Problem error={saves.failure} />}
        <ListStates
          source={quiet}
          told={told}
          skeleton={<SkeletonRows count={2} height={60} />}
          isEmpty={() => false}
          empty={null}
        >
          {(data) => <Hours quiet={{ ...data, ...saves.unsaved }} save={saves.save} />}
        </ListStates>
      </Card>
      {quiet.data !== undefined && (
        <MutedBots muted={saves.unsaved.mutedBots ?? quiet.data.mutedBots} save={saves.save} />
      )}
    </>
  );
}

function Hours({ quiet, save }: { quiet: Quiet; save: Save }) {
  const { quietHours, questions, digest } = quiet;
  return (
    <>
      <Setting
        name="Hold pushes back"
        effect={
          quietHours === null
            ? 'Pushes reach you at any time.'
            : `Every day, in the time zone ${quietHours.timezone}. The inbox lists everything as usual.`
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
                  onBlur={({ target: { value } }) => {
                    if (value !== '' && value !== quietHours[end])
                      save({ quietHours: { ...quietHours, [end]: value } });
                  }}
                  className={control}
                />
              </label>
            ))}
          <Switch
            label="Hold pushes back in quiet hours"
            on={quietHours !== null}
            onChange={(on) => save({ quietHours: on ? night() : null })}
          />
        </span>
      </Setting>
      {quietHours !== null && (
        <>
          <Setting name="Questions come through" effect="Approvals, and bots that cannot continue without you.">
            <Switch label="Questions come through" on={questions} onChange={(on) => save({ questions: on })} />
          </Setting>
          <Setting name="Digest" effect="One push at the end says how many notifications were held back.">
            <Switch label="Digest after quiet hours" on={digest} onChange={(on) => save({ digest: on })} />
          </Setting>
        </>
      )}
    </>
  );
}

function MutedBots({ muted, save }: { muted: readonly string[]; save: Save }) {
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
                onChange={(on) => save({ mutedBots: on ? muted.filter((id) => id !== bot.id) : [...muted, bot.id] })}
              />
            </Setting>
          ))
        }
      </FirstRows>
    </Card>
  );
}
