/** The pages of the settings, loaded together with the first of them. */
export { AccountPage } from './account-page.tsx';
export { AgentAccountsPage } from './agent-accounts-page.tsx';
export { ComputersPage } from './computers-page.tsx';
export { DesktopPage } from './desktop-page.tsx';
export { GeneralPage } from './general-page.tsx';
export { KeysPage } from './keys-page.tsx';
export { NotificationsPage } from './notifications-page.tsx';
export { SetUpPage } from './set-up-page.tsx';
export { SettingsFrame } from './settings-frame.tsx';
export { SignInsPage } from './sign-ins-page.tsx';
export { UsagePage } from './usage-page.tsx';
