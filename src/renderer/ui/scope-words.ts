/** Scopes of keys and apps in a person's words. Pure. */
import type { Scope } from '../../contracts/common/route.ts';

export const scopeWords: Readonly<Record<Scope, string>> = {
  'agents:read': 'See bots, their panes, work and runs',
  'bots:act': 'Message, start and stop bots',
  compute: 'Notifications, usage and computer-use runs',
  computers: 'Hosted computers',
  work: 'The work queue',
  admin: 'Administer people, projects and prices',
};
