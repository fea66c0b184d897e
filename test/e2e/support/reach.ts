/**
 * A cloud of many people with its provider and a push service, and computers to be paired with it behind a wire that can be cut: all in
 * this process, as their commands start them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type People, startPeople } from '../../cloud-api/identity/support.ts';
import { type Installation, startInstallation } from '../../host/paired-support.ts';
import { scratchHome } from '../../host/support.ts';
import { type PushService, startPushService } from '../../support/push-service.ts';
import { buildRenderer } from './renderer.ts';

export interface Reach {
  readonly people: People;
  readonly service: PushService;
  /** Where people and computers call the cloud. */
  readonly origin: string;
  /** A computer with one team of shell bots: `<team>` with `web` and `ops`. */
  installation(team: string): Promise<Installation>;
  close(): Promise<void>;
}

export async function startReach(): Promise<Reach> {
  await buildRenderer();
  const service = await startPushService();
  const people = await startPeople({
    settings: { push: { vapid: null, subject: null, allow: [`127.0.0.1:${service.port}`] } },
  });
  return {
    people,
    service,
    origin: people.origin,
    async installation(team) {
      const home = scratchHome();
      const folder = join(home, 'ws', '.gantry', 'teams', team);
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, 'team.yaml'),
        'bots:\n  - bot: web\n    harness: shell\n  - bot: ops\n    harness: shell\n',
      );
      return startInstallation({ home });
    },
    close: () => service.close(),
  };
}
