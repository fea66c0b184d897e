/** The real gate with a real browser, for a site whose forms tell what was sent. Only what a person answers is the test's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Store } from '../../../src/kit/store/store.ts';
import {
  createHands,
  createOwnQuestions,
  type Hands,
  handsMigrations,
  type OwnQuestions,
} from '../../../src/runtime-server/computer-use/index.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { type Site, startSite } from '../../programs/executor/driver.ts';
import { everythingAgreed } from '../../support/trust.ts';

export interface RealHands {
  readonly hands: Hands;
  readonly store: Store;
  readonly questions: OwnQuestions;
  readonly site: Site;
  /** A page that is answered to a form, whose body `take` hears. */
  answering(html: string, take: (body: string) => void): Exclude<ReturnType<Site['pages']['get']>, string | undefined>;
  close(): Promise<void>;
}

const log = { info() {}, warn: console.warn, error: console.error, close() {} };

/** On the site it may navigate and click; the rest asks. */
export async function startRealHands(): Promise<RealHands> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-hands-'));
  mkdirSync(join(folder, 'work', '.gantry'), { recursive: true });
  const rules = ['navigate', '*_click'].map(
    (member) => `  - when: {tool: browser, member: "${member}", host: "127.0.0.1:*"}\n    then: allow\n`,
  );
  writeFileSync(join(folder, 'work', '.gantry', 'policy.yaml'), `rules:\n${rules.join('')}`);
  const site = await startSite();
  const store = await openStore({
    file: join(folder, 'hands.db'),
    migrations: [...handsMigrations],
    clock: systemClock,
    onFault: console.error,
  });
  const ids = createIds(systemClock);
  const questions = createOwnQuestions({ store, ids, timers: systemTimers });
  const hands = createHands({
    store,
    policy: createPolicy({ workspace: join(folder, 'work'), trust: everythingAgreed, log }),
    questions,
    clock: systemClock,
    timers: systemTimers,
    ids,
    log,
    command: programCommand('executor'),
    env: { ...process.env, DISPLAY: undefined },
    folder: join(folder, 'hands'),
    secret: 'a secret of tests',
    uploads: { roots: [join(folder, 'work')], hidden: [join(folder, 'hands')] },
    ownPorts: () => [],
    defaults: 'own',
    approver: 'owner',
    approveUrl: (id) => `http://127.0.0.1/?approval=${id}`,
  });
  await hands.start();
  return {
    hands,
    store,
    questions,
    site,
    answering: (html, take) => (request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => {
        take(body);
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html);
      });
    },
    async close() {
      await hands.close();
      await store.close();
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
