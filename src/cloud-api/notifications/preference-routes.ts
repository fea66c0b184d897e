/** The routes of preferences. */
import { getPreferences, setPreferences } from '../../contracts/notifications/preferences.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { type PreferenceStore, readChange } from './preferences.ts';

export function preferenceRoutes(deps: { preferences: PreferenceStore; pushConfigured: boolean }): BoundRoute[] {
  const { preferences, pushConfigured } = deps;
  const shown = async (userId: string) => ({
    body: { pushConfigured, preferences: await preferences.list(userId) },
  });
  return [
    bind(getPreferences, ({ principal }) => shown(principal.userId)),
    bind(setPreferences, async ({ principal, body }) => {
      await preferences.change(principal.userId, readChange(body));
      return shown(principal.userId);
    }),
  ];
}
