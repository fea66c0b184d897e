/**
 * The hands of one computer as a program composes them: the gate, the routes of the device, the program that acts. The same for a person's computer
 * and for a hosted one, which differ in who is asked, and about what. Must not know its composer.
 */

import type { BoundRoute } from '../../kit/http/types.ts';
import type { Log } from '../../kit/log/log.ts';
import type { Metric } from '../../kit/metrics/metric.ts';
import type { Store } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { Policy } from '../policy/index.ts';
import type { ExecutorProgram } from './executor-program.ts';
import type { ToolsetGate } from './gate.ts';
import type { Questions } from './questions.ts';
import type { UploadsDeps } from './uploads.ts';

export interface HandsDeps extends Pick<Base, 'clock' | 'timers' | 'ids'> {
  /** With `handsMigrations` (migrations.ts) applied. */
  readonly store: Store;
  readonly policy: Pick<Policy, 'decide'>;
  readonly questions: Questions;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Program and arguments of the executor: `programCommand('executor')`. A computer without a screen has a shell in its place. */
  readonly command: readonly [string, ...string[]] | { readonly shell: ExecutorProgram };
  /** Of this process; the executor gets the variables that it needs (`DISPLAY`, …). */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute; profiles, downloads and videos lie below it. */
  readonly folder: string;
  /** Ties an approval to its action without revealing typed text: any secret that stays the same. */
  readonly secret: string;
  /** Ports of Gantry itself on this computer: no browser of it reaches them. */
  readonly ownPorts: () => readonly number[];
  /**
   * `own`: outside a run that a person started, every action asks, and one that cannot be undone always asks. `hosted`: only
   * actions that cannot be undone ask.
   */
  readonly defaults: 'own' | 'hosted';
  /** Which files a page may be handed. */
  readonly uploads: UploadsDeps;
  /** The approver that a waiting caller sees. */
  readonly approver: 'owner' | 'api_key';
  /** Where that person answers. */
  readonly approveUrl: (approvalId: string) => string;
  /** Whether a run of this computer is still active: only the run itself holds control in its name. Missing: there are no runs. */
  readonly livingRun?: (runId: string) => Promise<boolean>;
  /** `host:port` through which a browser is to go, or null: then the executor asks here for each new host. */
  readonly proxy?: string | null;
}

export interface Hands {
  readonly gate: ToolsetGate;
  /** `this-device`: toolset, schema, control, view. */
  readonly routes: readonly BoundRoute[];
  readonly metrics: readonly Metric[];
  /** Ends what an earlier run of this program left open in the audit. Call before the first request. */
  start(): Promise<void>;
  /** Ends the program with all that it started. */
  close(): Promise<void>;
}
