/** The routes of runs and sessions on the computer itself. The cloud answers approvals. Must not know how a run runs. */
import { createReadStream, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../../contracts/common/errors.ts';
import * as table from '../../../contracts/computer-use/run-routes.ts';
import { clientOf, isOwnerInPerson, surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind, type OwnerLookups, type Principal } from '../../../kit/http/types.ts';
import type { Store } from '../../../kit/store/store.ts';
import type { Artifacts } from './artifacts.ts';
import type { Asker } from './course.ts';
import type { Caller } from './order.ts';
import { afterOf, type Reading } from './reading.ts';
import type { ArtifactRow } from './records.ts';
import type { Runs } from './runs.ts';
import type { Sessions } from './sessions.ts';
import type { RunRequest } from './states.ts';

const callerOf = (principal: Principal): Caller => ({
  userId: principal.userId,
  surface: surfaceOf(principal),
  person: isOwnerInPerson(principal),
});
const askerOf = (principal: Principal, body: { actor_id?: string; comment?: string } | undefined): Asker => ({
  actor: body?.actor_id ?? clientOf(principal),
  comment: body?.comment,
});

export function runRoutesOf({
  store,
  runs,
  reading,
  sessions,
  artifacts,
}: {
  readonly store: Store;
  readonly runs: Runs;
  readonly reading: Reading;
  readonly sessions: Sessions;
  readonly artifacts: Pick<Artifacts, 'fileOf'>;
}): readonly BoundRoute[] {
  const controls = (
    [
      ['cancel', table.cancelRun],
      ['cancel', table.cancelRunShort],
      ['pause', table.pauseRun],
      ['pause', table.pauseRunShort],
      ['resume', table.resumeRun],
      ['resume', table.resumeRunShort],
    ] as const satisfies readonly (readonly [RunRequest, unknown])[]
  ).map(([request, route]) =>
    bind(route, async ({ principal, params, body }) => ({
      body: await runs.ask(params.runId, request, askerOf(principal, body)),
    })),
  );

  return [
    bind<typeof table.executeRun>(table.executeRun, async ({ principal, query, body, signal }) => {
      const run = await runs.execute(body, callerOf(principal));
      const waits = query.wait === true;
      return { status: waits ? 200 : 202, body: waits ? await runs.wait(run.run_id, signal) : run };
    }),
    bind(table.listRuns, async ({ principal, query }) => ({
      body: await reading.list(
        { userId: principal.userId, sessionId: query.session_id, status: query.status },
        { limit: query.limit, cursor: query.cursor },
      ),
    })),
    bind(table.getRun, async ({ params }) => ({ body: await runs.read(params.runId) })),
    ...[table.listRunEvents, table.listRunEventsShort].map((route) =>
      bind(route, async ({ params, query }) => ({
        body: await reading.events(params.runId, query.after_index ?? -1, query),
      })),
    ),
    ...[table.streamRun, table.streamRunShort].map((route) =>
      bind(route, async ({ params, query, request }, sink) => {
        await reading.stream(params.runId, afterOf(request.headers['last-event-id'], query.after_index), sink);
      }),
    ),
    ...controls,
    bind(table.getRunApproval, async ({ params }) => ({
      body: { approval: (await runs.read(params.runId)).approval },
    })),
    bind(table.readArtifact, async ({ params, response, signal }) => {
      const row = await store.read((tx) =>
        tx.get<ArtifactRow>(
          'SELECT * FROM computer_use_artifact WHERE id = ? AND run_id = ?',
          params.artifactId,
          params.runId,
        ),
      );
      if (row === undefined) throw artifactNotFound(params.artifactId);
      const file = artifacts.fileOf(row.sha256);
      if (statSync(file, { throwIfNoEntry: false })?.size !== row.size) throw artifactNotFound(params.artifactId);
      response.writeHead(200, {
        'content-type': row.media_type,
        'content-length': row.size,
        'content-disposition': `${row.kind === 'screenshot' || row.kind === 'video' ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeURIComponent(row.name)}`,
        // A file that a page made the browser download must not run as a page here.
        'content-security-policy': "default-src 'none'; sandbox",
      });
      // A reader that leaves is not a fault.
      await pipeline(createReadStream(file), response, { signal }).catch(() => response.destroy());
    }),
    bind(table.createSession, async ({ principal, body }) => ({
      body: await sessions.create(principal.userId, body ?? {}),
    })),
    bind(table.listSessions, async ({ principal }) => ({
      body: { sessions: await sessions.list(principal.userId) },
    })),
    bind(table.getSession, async ({ params }) => ({ body: await sessions.read(params.sessionId) })),
    bind(table.closeSession, async ({ params, query }) => ({
      body: await sessions.close(params.sessionId, query.cleanup ?? false),
    })),
  ];
}

/** A run and a session belong to their creator; a key acts for its owner. */
export function runOwnersOf(store: Store): OwnerLookups {
  const owns = (from: string) => (principal: Principal, id: string) =>
    store.read(
      (tx) => tx.get(`SELECT 1 FROM ${from} WHERE id = ? AND user_id = ?`, id, principal.userId) !== undefined,
    );
  return { 'computer-use-run': owns('computer_use_run'), 'computer-use-session': owns('computer_use_session') };
}

function artifactNotFound(id: string): AppError {
  return new AppError(
    'not_found',
    `There is no artifact ${JSON.stringify(id)} of this run.`,
    'Check the artifacts of the run.',
    {
      wireCode: 'artifact_not_found',
    },
  );
}
