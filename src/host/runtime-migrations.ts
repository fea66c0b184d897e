/** The migrations of `runtime.db`, from every area that stores something there. */

import { botTokenMigrations } from '../kit/http/bot-tokens.ts';
import { idempotencyMigrations } from '../kit/http/idempotency.ts';
import { laneMigrations } from '../kit/lane/migrations.ts';
import { ledgerMigrations } from '../kit/ledger/migrations.ts';
import { oauthMigrations } from '../kit/oauth/grants.ts';
import { signingMigrations } from '../kit/signing/authenticator.ts';
import { traceMigrations } from '../kit/telemetry/migrations.ts';
import { holdMigrations } from '../runtime-server/approvals/index.ts';
import { handsMigrations } from '../runtime-server/computer-use/index.ts';
import { runMigrations } from '../runtime-server/computer-use/runs/index.ts';
import { automationMigrations } from '../runtime-server/connectors/automation/index.ts';
import { subscriptionMigrations } from '../runtime-server/connectors/subscriptions/index.ts';
import { deviceMigrations } from '../runtime-server/link/device.ts';
import { modelMigrations } from '../runtime-server/models/index.ts';
import { phoneMigrations } from '../runtime-server/phone/index.ts';
import { attachedServerMigrations } from '../runtime-server/tool-server/servers/index.ts';
import { toolTaskMigrations } from '../runtime-server/tool-server/tasks/migrations.ts';
import { trustMigrations } from '../runtime-server/trust/index.ts';
import { dailyMigrations } from './daily.ts';
import { factoryMigrations } from './factory/migrations.ts';

export const runtimeMigrations = [
  ...ledgerMigrations,
  ...laneMigrations,
  ...idempotencyMigrations,
  ...botTokenMigrations,
  ...signingMigrations,
  ...deviceMigrations,
  ...holdMigrations,
  ...modelMigrations,
  ...factoryMigrations,
  ...attachedServerMigrations,
  ...oauthMigrations,
  ...subscriptionMigrations,
  ...automationMigrations,
  ...handsMigrations,
  ...runMigrations,
  ...phoneMigrations,
  ...trustMigrations,
  ...dailyMigrations,
  ...toolTaskMigrations,
  ...traceMigrations,
];
