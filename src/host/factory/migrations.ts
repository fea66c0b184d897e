/** The migrations of the folders that make up a factory, each folder's in its own order. */
import { acpMigrations } from '../../runtime-server/acp-bots/index.ts';
import { accountMigrations } from '../../runtime-server/agents/accounts/migrations.ts';
import { factoryMigrations as agentMigrations } from '../../runtime-server/agents/migrations.ts';
import { hostedMigrations } from '../../runtime-server/hosted-bots/index.ts';
import { peerMigrations } from '../../runtime-server/peers/index.ts';
import { remoteMigrations } from '../../runtime-server/peers/remote/index.ts';
import { quickRunMigrations } from '../../runtime-server/quick-runs/index.ts';
import { reportMigrations } from '../../runtime-server/reports/migrations.ts';
import { meteringMigrations } from '../../runtime-server/usage/index.ts';
import { workEngineMigrations } from '../../runtime-server/work-engine/migrations.ts';
import { workflowMigrations } from '../../runtime-server/workflows/migrations.ts';
import { scheduleMigrations } from '../../runtime-server/workflows/schedules/index.ts';

export const factoryMigrations = [
  ...agentMigrations,
  ...workflowMigrations,
  ...workEngineMigrations,
  ...hostedMigrations,
  ...acpMigrations,
  ...peerMigrations,
  ...remoteMigrations,
  ...meteringMigrations,
  ...scheduleMigrations,
  ...quickRunMigrations,
  ...reportMigrations,
  ...accountMigrations,
];
