/**
 * What the factory needs from outside, as small as it needs it. Composed by `src/host/runtime.ts`.
 * Must not know which implementations stand behind.
 */

import type { DoctorCheck } from '../../contracts/common/doctor-check.ts';
import type { BoundRoute } from '../../kit/http/types.ts';
import type { RunOptions, RunResult } from '../../kit/process/run-process.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { TraceContext } from '../../kit/telemetry/telemetry.ts';
import type { BotDirectory } from '../../runtime-server/agents/bot-directory.ts';
import type { BotTokens } from '../../runtime-server/agents/bot-homes.ts';
import type { OpenNetwork } from '../../runtime-server/agents/bot-networks.ts';
import type { Approvals } from '../../runtime-server/approvals/index.ts';
import type { Base } from '../../runtime-server/base/base.ts';
import type { ProgressBook } from '../../runtime-server/base/progress.ts';
import type { RuntimeEvents } from '../../runtime-server/events/outbox.ts';
import type { Harnesses } from '../../runtime-server/harness/harness.ts';
import type { OpenLanes } from '../../runtime-server/messaging/deliverer.ts';
import type { Models } from '../../runtime-server/models/index.ts';
import type { PaneEngine } from '../../runtime-server/panes/pane-engine.ts';
import type { PeerHome } from '../../runtime-server/peers/remote/calls.ts';
import type { ChannelOut } from '../../runtime-server/phone/ports.ts';
import type { Policy } from '../../runtime-server/policy/index.ts';
import type { TakerDeps } from '../../runtime-server/reports/deps.ts';
import type { ShellSandbox, Tool, ToolRegistry } from '../../runtime-server/tool-server/index.ts';
import type { WorkspaceTrusts } from '../../runtime-server/trust/index.ts';
import type { WorkQueue } from '../../runtime-server/workflows/worker-steps/calls.ts';

/** What hosted bots run on. */
interface HostedParts {
  readonly models: Models;
  /** The native tools and these. */
  tools(more: readonly Tool[]): ToolRegistry;
}

export interface WorkTraces extends TraceContext {
  /** The span of a step; null: none. */
  ofNode(nodeId: string): string | null;
  /** The span of a job of a rule; null: none. */
  ofJob(jobId: string): string | null;
  /** A bot took a message. */
  taken(agentId: string): void;
  /** A bot has a step. */
  handed(agentId: string, nodeId: string): void;
}

export interface FactoryDeps extends Base {
  readonly progress: ProgressBook;
  readonly openLanes: OpenLanes;
  readonly panes: PaneEngine;
  /** Which the factory fills: what asks for a bot is made before it. */
  readonly directory: BotDirectory;
  readonly harnesses: Harnesses;
  /** What a person may want to hear of. */
  readonly events: RuntimeEvents;
  /** Absolute path of the one workspace. */
  readonly workspace: string;
  /** `GANTRY_HOME`. */
  readonly home: string;
  /** The person's home folder, for `~/…` in team files. */
  readonly userHome: string;
  readonly computerId: string;
  /** The user whose bots these are. */
  readonly ownerId: string;
  readonly botTokens: BotTokens & TakerDeps['tokens'];
  /** File that holds the engine's URL; read by bots at call time, because ports move. */
  readonly urlFile: string;
  /** argv of the `gantry` command. */
  readonly gantry: readonly string[];
  /** Where outsiders reach the cloud of this computer, such as `http://127.0.0.1:3010`. */
  readonly webOrigin: () => string;
  /** Seals the vault's secrets. */
  readonly vaultSealer: Sealer;
  /** The environment that `doctor` looks for programs and model keys in. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * hex HMAC-SHA256 of the challenge under the owner's token. A client asks for it before it sends its token, because another
   * program may have taken the port.
   */
  readonly prove: (challenge: string) => string;
  /** Takes what threads with an outside channel send; absent where no message comes from outside. */
  readonly channelOut?: ChannelOut;
  /** Where a person is asked: gates of runs, the gate “may I?”. */
  readonly approvals: Approvals;
  readonly policy: Policy;
  /** Decides where closed bots may connect; by default rules and questions. */
  readonly openNetwork?: OpenNetwork;
  /** Where commands that set a worktree up run. */
  readonly sandbox: Pick<ShellSandbox, 'place'>;
  /** What its person said yes to of what the workspace says about what may run. */
  readonly trust: WorkspaceTrusts;
  readonly hosted: HostedParts;
  /** Routes of the keys and servers of models that the person gave here. */
  readonly modelRoutes: readonly BoundRoute[];
  /** Where work is in its traces. */
  readonly traces?: WorkTraces | undefined;
  /** Whether bots are started again whose pane host is gone; by default they are. */
  readonly restartBots?: boolean | undefined;
  /** The way to other computers; absent where none can be paired. */
  readonly peerHome?: PeerHome | undefined;
  /** The work queue of this computer's cloud; absent without a cloud. */
  readonly queue?: WorkQueue | undefined;
  readonly random: () => number;
  /** How git is run for what other computers bring; by default as any child. */
  readonly runGit?: ((options: RunOptions) => Promise<RunResult>) | undefined;
  readonly hostChecks?: () => Promise<readonly DoctorCheck[]> | readonly DoctorCheck[];
}
