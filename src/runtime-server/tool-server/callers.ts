/**
 * The callers of tools over MCP and REST: a bot by its token, with its own folder and variables, or a program of the person, with the workspace. A
 * bot never has more rights than its owner, because a page or message may have talked it into the call. Must not know tools.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { maxApprovalWaitSeconds } from '../../contracts/tool-server/tools.ts';
import { clientOf, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { ToolCaller } from './tool.ts';

/** A bot of this computer's workspace. */
export type ToolBot = NonNullable<ToolCaller['bot']> &
  Pick<ToolCaller, 'mode' | 'root' | 'checkout' | 'env' | 'secrets'>;

export interface CallersDeps {
  readonly ownerId: string;
  readonly workspace: string;
  /** False for bots of other workspaces, such as one that another computer brought. */
  readonly isBot: (agentId: string) => boolean;
  /** Null as well. */
  readonly bot: (agentId: string) => Promise<ToolBot | null>;
  /** One of them calls a tool. */
  readonly called?: ((agentId: string, tool: string, input: unknown) => void) | undefined;
}

export interface ToolCallers {
  /** Throws `refused` for a caller without tools here. */
  admit(principal: Principal): void;
  /** Which client this is: see `ToolCaller.client`. */
  clientOf(principal: Principal): string;
  /** The same, with the dependencies of its calls. */
  of(principal: Principal, signal: AbortSignal): Promise<ToolCaller> | ToolCaller;
}

const patienceMs = maxApprovalWaitSeconds * 1000;

function notHere(): AppError {
  return new AppError(
    'refused',
    'Only bots of this workspace may use its tools.',
    'Ask on the computer that started it, or start its team again.',
  );
}

const nameOf = (principal: Principal): string =>
  principal.agentId === undefined ? `${principal.userId}/${clientOf(principal)}` : `bot:${principal.agentId}`;

export function createToolCallers({ ownerId, workspace, isBot, bot }: CallersDeps): ToolCallers {
  async function botOf(agentId: string): Promise<ToolBot> {
    const found = await bot(agentId);
    if (found === null) throw notHere();
    return found;
  }

  function personOf(principal: Principal, signal: AbortSignal): ToolCaller {
    return {
      bot: null,
      client: nameOf(principal),
      actor: principal.userId,
      surface: surfaceOf(principal),
      mode: null,
      root: workspace,
      checkout: workspace,
      workspace,
      env: {},
      signal,
      patienceMs,
    };
  }

  /** One computer, one owner: other users that a cloud lets through have no tools here. */
  function mustOwn({ userId }: Principal): void {
    if (userId === ownerId) return;
    throw new AppError('refused', 'This computer belongs to somebody else.', 'Use a computer of yours.');
  }

  return {
    admit(principal) {
      mustOwn(principal);
      if (principal.agentId !== undefined && !isBot(principal.agentId)) throw notHere();
    },
    clientOf: nameOf,
    of(principal, signal) {
      mustOwn(principal);
      if (principal.agentId === undefined) return personOf(principal, signal);
      return botOf(principal.agentId).then(({ agentId, address, mode, root, checkout, env, secrets }) => ({
        bot: { agentId, address },
        client: nameOf(principal),
        actor: agentId,
        surface: surfaceOf(principal),
        mode,
        root,
        checkout,
        workspace,
        env,
        secrets,
        signal,
        patienceMs,
      }));
    },
  };
}
