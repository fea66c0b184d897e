/** The pages of the settings, each with its address: the one list of the navigation, the commands and the routes. */

export const sections = [
  { path: '/settings/general', name: 'General' },
  { path: '/settings/set-up', name: 'Set-up' },
  { path: '/settings/account', name: 'Account' },
  { path: '/settings/agent-accounts', name: 'Agent accounts' },
  { path: '/settings/keys', name: 'API keys' },
  { path: '/settings/sign-ins', name: 'Sign-ins' },
  { path: '/settings/computers', name: 'Computers' },
  { path: '/settings/notifications', name: 'Notifications' },
  { path: '/settings/usage', name: 'Usage' },
  { path: '/settings/desktop', name: 'Desktop' },
] as const;

/** Sections of the desktop app, shown only there. */
export const sectionsIn = (desktop: boolean) => sections.filter(({ path }) => desktop || path !== '/settings/desktop');
