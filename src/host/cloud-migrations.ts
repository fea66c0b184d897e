/** The migrations of a cloud's database, from every area that stores something there. */

import { approvalMigrations } from '../cloud-api/approvals/index.ts';
import { connectorEventMigrations } from '../cloud-api/connector-events/index.ts';
import { edgeAppMigrations, edgeEventMigrations } from '../cloud-api/edge/index.ts';
import { eventMigrations } from '../cloud-api/events/index.ts';
import { hostedComputerMigrations } from '../cloud-api/hosted-computers/index.ts';
import { identityMigrations } from '../cloud-api/identity/index.ts';
import { linkMigrations } from '../cloud-api/link/migrations.ts';
import { notificationMigrations } from '../cloud-api/notifications/index.ts';
import { phoneMigrations } from '../cloud-api/phone/index.ts';
import { usageMigrations } from '../cloud-api/usage/index.ts';
import { workQueueMigrations } from '../cloud-api/work-queue/index.ts';
import { idempotencyMigrations } from '../kit/http/idempotency.ts';
import { sharedCountMigrations } from '../kit/http/shared-count.ts';
import { laneMigrations } from '../kit/lane/migrations.ts';
import { signingMigrations } from '../kit/signing/authenticator.ts';
import { dailyMigrations } from './daily.ts';
import { sharedSecretsMigrations } from './shared-secrets.ts';

export const cloudMigrations = [
  ...identityMigrations,
  ...idempotencyMigrations,
  ...laneMigrations,
  ...signingMigrations,
  ...linkMigrations,
  ...approvalMigrations,
  ...eventMigrations,
  ...notificationMigrations,
  ...usageMigrations,
  ...hostedComputerMigrations,
  ...sharedSecretsMigrations,
  ...edgeAppMigrations,
  ...edgeEventMigrations,
  ...workQueueMigrations,
  ...connectorEventMigrations,
  ...phoneMigrations,
  ...sharedCountMigrations,
  ...dailyMigrations,
];
