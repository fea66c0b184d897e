/** Which events are pushed. Words, order and defaults are the server's. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Preferences } from '../../../contracts/notifications/preferences.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useSaves } from '../../ui/use-saves.ts';
import { Setting } from './parts.tsx';

type Preference = Preferences['preferences'][number];

export function PreferencesCard({ told }: { told: boolean }) {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const preferences = useQuery({ ...queries.preferences, staleTime: 0 });
  const { unsaved, failure, save } = useSaves<Record<string, boolean | null>>(async (change) => {
    client.setQueryData(keys.preferences, await api.notifications.setNotificationPreferences({ body: change }));
  });
  const shown = (one: Preference): Preference => {
    const now = unsaved[one.event];
    return now === undefined ? one : { ...one, enabled: now ?? one.default };
  };
  const changed = preferences.data?.preferences.map(shown).filter((one) => one.enabled !== one.default) ?? [];
  return (
    <Card
      title="Push me when"
      aside={
        changed.length === 0 ? (
          'all at their defaults'
        ) : (
          <button
            type="button"
            onClick={() => save(Object.fromEntries(changed.map((one) => [one.event, null])))}
            className="rounded-control underline decoration-line-strong hover:text-ink"
          >
            Reset all to default
          </button>
        )
      }
    >
      {failure !== null && <Problem error={failure} />}
      <ListStates
        source={preferences}
        told={told}
        skeleton={<SkeletonRows count={8} height={60} />}
        isEmpty={() => false}
        empty={null}
      >
        {(data) => (
          <div>
            {data.preferences.map(shown).map((one) => (
              <Setting
                key={one.event}
                name={one.title}
                effect={one.description}
                source={one.enabled === one.default ? 'default' : `default: ${one.default ? 'on' : 'off'}`}
              >
                <span className="flex items-center gap-2">
                  {one.enabled !== one.default && (
                    <Button
                      kind="quiet"
                      onClick={() => save({ [one.event]: null })}
                      aria-label={`Reset ${one.title} to its default`}
                    >
                      Reset
                    </Button>
                  )}
                  <Switch label={one.title} on={one.enabled} onChange={(on) => save({ [one.event]: on })} />
                </span>
              </Setting>
            ))}
          </div>
        )}
      </ListStates>
    </Card>
  );
}
