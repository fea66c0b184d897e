/** Whether another computer can clone the workspace as it is here, and if not, why. Reads only; must not know teams. */
import { realpath } from 'node:fs/promises';
import { type Git, uncommitted } from '../../../kit/process/git.ts';
import { urlProblem } from '../clone.ts';

type WorkspaceRepo =
  | { readonly repo: { readonly url: string; readonly commit: string }; readonly note: string }
  | { readonly repo: null; readonly note: string | null };

const without = (note: string | null): WorkspaceRepo => ({ repo: null, note });

/** `note`: a remark beside a step; null where there is no repository at all. */
export async function findRepo(git: Git, workspace: string): Promise<WorkspaceRepo> {
  const say = async (...args: string[]): Promise<string | null> => {
    const ran = await git.try(workspace, args).catch(() => null);
    return ran?.exitCode === 0 ? ran.stdout.trim() : null;
  };
  const top = await say('rev-parse', '--show-toplevel');
  if (top === null) return without(null);
  if (top !== (await realpath(workspace))) {
    return without('without the repository: the workspace is only a part of it');
  }
  const commit = await say('rev-parse', '--verify', '--quiet', 'HEAD');
  if (commit === null) return without('without the repository: it has no commit');
  const holders =
    (await say('for-each-ref', '--contains', commit, '--format=%(refname:lstrip=2)', 'refs/remotes')) ?? '';
  const remotes = new Set(holders.split('\n').flatMap((ref) => (ref === '' ? [] : [ref.split('/', 1)[0] ?? ''])));
  const remote = remotes.has('origin') ? 'origin' : [...remotes][0];
  if (remote === undefined) return without(`without the repository: ${commit.slice(0, 8)} is not pushed`);
  const url = plainUrl((await say('remote', 'get-url', remote)) ?? '');
  const problem = urlProblem(url);
  if (problem !== null) return without(`without the repository: the address of its remote ${remote} ${problem}`);
  const dirty = (await say(...uncommitted)) ?? '';
  const left = dirty === '' ? '' : ', without what is not committed here';
  return { repo: { url, commit }, note: `in a clone of ${url} at ${commit.slice(0, 8)}${left}` };
}

/** As a URL, without a token of this computer: `git@host:path` is `ssh://git@host/path`. */
function plainUrl(address: string): string {
  const short = /^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+):(?!\/\/)(.+)$/.exec(address);
  if (short !== null) {
    const [, user, host, path = ''] = short;
    return `ssh://${user === undefined ? '' : `${user}@`}${host}/${path.replace(/^\//, '')}`;
  }
  try {
    const url = new URL(address);
    url.password = '';
    if (url.protocol === 'https:') url.username = '';
    return url.href;
  } catch {
    return address;
  }
}
