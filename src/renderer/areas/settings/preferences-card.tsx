/** Which events are pushed. Words, order and defaults are the server's. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useAct } from '../../ui/use-act.ts';
import { Setting } from './parts.tsx';

export function PreferencesCard({ told }: { told: boolean }) {
  const { api, queries, keys } = useServices();
  const client = useQueryClient();
  const preferences = useQuery({ ...queries.preferences, staleTime: 0 });
  const { busy, failure, run } = useAct(async (change: Readonly<Record<string, boolean | null>>) => {
    client.setQueryData(keys.preferences, await api.notifications.setNotificationPreferences({ body: change }));
  });
  const changed = preferences.data?.preferences.filter((one) => one.enabled !== one.default) ?? [];
  return (
    <Card
      title="Push me when"
      aside={
        changed.length === 0 ? (
          'all at their defaults'
        ) : (
          <button
            type="button"
            disabled={busy}
            onClick={() => run(Object.fromEntries(changed.map((one) => [one.event, null])))}
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
            {data.preferences.map((one) => (
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
                      disabled={busy}
                      onClick={() => run({ [one.event]: null })}
                      aria-label={`Reset ${one.title} to its default`}
                    >
                      Reset
                    </Button>
                  )}
                  <Switch
                    label={one.title}
                    on={one.enabled}
                    disabled={busy}
                    onChange={(on) => run({ [one.event]: on })}
                  />
                </span>
              </Setting>
            ))}
          </div>
        )}
      </ListStates>
    </Card>
  );
}
