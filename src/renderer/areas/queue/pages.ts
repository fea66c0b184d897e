/** The pages of the queue, loaded with the first one. */
export { HistoryPage } from './history-page.tsx';
export { DeploymentPage, SessionPage } from './link-page.tsx';
export { DeploymentsPage, SessionsPage } from './links-page.tsx';
export { QueuePage } from './queue-page.tsx';
