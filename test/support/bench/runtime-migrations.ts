/** The steps of `runtime.db` as the runtime opens it. A step that is missing here is refused, so this cannot fall behind unseen. */
import { botTokenMigrations } from '../../../src/kit/http/bot-tokens.ts';
import { idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { holdMigrations } from '../../../src/runtime-server/approvals/index.ts';
import { factoryMigrations } from '../../../src/runtime-server/factory/index.ts';
import { deviceMigrations } from '../../../src/runtime-server/link/device.ts';
import { modelMigrations } from '../../../src/runtime-server/models/index.ts';

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
];
