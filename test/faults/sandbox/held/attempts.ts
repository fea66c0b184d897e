/** Tries to change what says what may run: each a line for a shell, in one of the folders of a world. */
import { nested, settings, type World } from './world.ts';

export interface Attempt {
  readonly at: 'work' | 'plain' | 'tree';
  readonly line: string;
  /** It acts only after its command has ended. */
  readonly late?: true;
}

const top = (path: string): string => path.split('/')[0] ?? path;
const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/') || '.';

export function attempts({ work, other }: World): Attempt[] {
  const inWork = (line: string): Attempt => ({ at: 'work', line });
  const inPlain = (line: string): Attempt => ({ at: 'plain', line });
  const inTree = (line: string): Attempt => ({ at: 'tree', line });
  const present = [...settings, ...nested, '.git/config', '.git/hooks/pre-commit', '.git/info/exclude'];
  const node = (script: string) => `node -e ${JSON.stringify(script)}`;
  return [
    // Written over, replaced, removed, each by another way.
    ...present.flatMap((path, index) => [
      inWork(`echo evil >> ${path}`),
      inWork([`rm -f ${path}; echo evil > ${path}`, `echo evil > n; mv -f n ${path}`][index % 2]!),
      inWork(
        [`ln -sf /etc/hosts ${path}`, `sed -i 1ievil ${path}`, `: > ${path}`, `cp -f /etc/hosts ${path}`][index % 4]!,
      ),
      inWork(
        [`rm -rf ${top(path)}`, `chmod 777 ${path}`, `mv ${path} moved`, `perl -pi -e 's/^/evil/' ${path}`][index % 4]!,
      ),
    ]),
    // Made where there was nothing, at the top and below.
    ...settings.map((path) => inPlain(`mkdir -p ${folderOf(path)}; echo evil > ${path}`)),
    ...settings.map((path) => inPlain(`mkdir -p a/b/${folderOf(path)}; echo evil > a/b/${path}`)),
    ...['config.worktree', 'commondir', 'hooks/post-checkout', 'info/attributes'].map((path) =>
      inPlain(`echo ../evil > .git/${path}`),
    ),
    inPlain('mkdir x; echo evil > x/hosts; ln -s x .claude'),
    inPlain('mkdir -p x/.vscode; echo evil > x/.vscode/tasks.json; mv x y'),
    inPlain('mkdir n; echo evil > n/settings.json; mv n .gemini'),
    inPlain('printf evil > n; tar cf n.tar --transform s/n/.envrc/ n; tar xf n.tar'),
    inPlain('ln README.md .npmrc'),
    inPlain('mkfifo n; mkdir .qwen; echo evil > .qwen/settings.json'),
    // What lies above is moved, removed or exchanged.
    inWork('mv .git x'),
    inWork('mv .git x; cp -a x .git; echo evil >> .git/config'),
    inWork('mv .gantry x; mkdir .gantry; echo evil > .gantry/policy.yaml'),
    inWork('mv packages x'),
    inWork('mv packages/a x; mkdir -p packages/a; echo evil > packages/a/.npmrc'),
    inWork('mv packages/b/deep packages/b/other'),
    inWork('mv packages x; cp -a x packages; echo evil > packages/a/.npmrc'),
    inWork('mv packages x; mkdir y; mkdir y/a; echo evil > y/a/.npmrc; ln -s y packages'),
    inWork('mv packages x; echo evil > packages'),
    inWork('mkdir node_modules; mv packages node_modules/packages'),
    inWork('mv packages/a y; mv packages/b packages/a; mv y packages/b'),
    inWork('mv packages/lib x; git init -q packages/lib; git -C packages/lib config core.fsmonitor evil'),
    inWork('mv .git/modules x; mkdir -p .git/modules/packages/sub; echo evil > .git/modules/packages/sub/config'),
    inWork('mv .githooks x; mkdir .githooks; echo evil > .githooks/pre-push'),
    ...(process.arch === 'x64'
      ? [
          inWork(`mkdir -p y/a; echo evil > y/a/.npmrc; perl -e 'syscall(316,-100,"packages",-100,"y",2)'`),
          inWork(`cp -a .git g; echo evil >> g/config; perl -e 'syscall(316,-100,".git",-100,"g",2)'`),
        ]
      : []),
    // git itself, by its own commands and by its environment.
    inWork('git config core.fsmonitor evil'),
    inWork('git config core.hooksPath evil'),
    inWork('git config filter.evil.clean evil; echo "* filter=evil" > .git/info/attributes'),
    inWork('git config --unset core.hooksPath'),
    inWork('git config include.path ../evil'),
    inWork('git config alias.st "!evil"'),
    inWork('git config extensions.worktreeConfig true; git config --worktree core.pager evil'),
    inWork('GIT_DIR=.git GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c git config core.sshCommand evil'),
    inWork('GIT_CONFIG=.git/config git config core.editor evil'),
    inWork('git --git-dir=.git config diff.external evil'),
    inWork('git config -f .git/config credential.helper evil'),
    inWork('git config -f shared.gitconfig core.pager evil'),
    inWork('git remote add evil /evil'),
    inWork('echo evil > .githooks/post-checkout; chmod +x .githooks/post-checkout'),
    inWork('mkdir t; mkdir t/hooks; echo evil > t/hooks/pre-push; git init -q --template=t .'),
    inWork('git -C packages/lib config core.fsmonitor evil'),
    inWork('echo evil > packages/lib/.git/hooks/pre-commit'),
    inWork('git -C packages/sub config core.fsmonitor evil'),
    inWork('echo evil > .git/modules/packages/sub/hooks/pre-commit'),
    inWork('echo "gitdir: /evil" > packages/sub/.git'),
    inWork('git submodule deinit -q -f packages/sub; git rm -qf packages/sub'),
    inWork('git worktree add -q w'),
    inWork('git rm -q --cached AGENTS.md; git clean -qfx AGENTS.md'),
    inWork('git stash -qu; rm -f .npmrc; git stash drop -q; git checkout -q HEAD~1 -- .; git rm -rqf .'),
    inWork('echo evil > AGENTS.md; git add AGENTS.md; git commit -qnm evil; git reset -q --hard'),
    inWork('git checkout -q HEAD~1'),
    inWork('git init -q fresh; git -C fresh config core.fsmonitor evil'),
    inWork('git clone -q . copy; git -C copy config core.fsmonitor evil'),
    inWork('git init -q --bare store; git -C store config core.fsmonitor evil'),
    // Other names for the same file.
    inWork('ln .git/config l; echo evil >> l'),
    inWork('ln .npmrc l; echo evil >> l'),
    inWork('ln packages/a/.npmrc l && echo evil >> l'),
    inWork('ln -s .git/config l; echo evil >> l'),
    inWork('ln -s .claude l; echo evil > l/hooks.json'),
    inWork('echo evil >> /proc/self/root$PWD/.git/config'),
    inWork('echo evil >> /proc/self/cwd/.envrc'),
    inWork('echo evil >> /proc/$$/root$PWD/.npmrc'),
    inWork('cd .git; echo evil >> /proc/self/cwd/config'),
    inWork('exec 9< .claude; echo evil > /proc/self/fd/9/hooks.json'),
    inWork('exec 9< .npmrc; echo evil > /proc/self/fd/9'),
    inWork('echo evil >> src/../.gantry/../.gantry/policy.yaml'),
    inWork(node("require('fs').appendFileSync('.git/config','evil')")),
    inWork(node("const f=require('fs');f.writeFileSync('n','evil');f.renameSync('n','AGENTS.md')")),
    inWork(node("require('fs').cpSync('/etc/hosts','.codex/config.toml',{force:true})")),
    inWork(node("require('fs').truncateSync('.mcp.json',0)")),
    inWork("perl -e 'chmod 0, q(.husky/pre-commit)'"),
    inWork('dd if=/etc/hosts of=.envrc status=none'),
    inWork('echo evil | tee -a .vscode/tasks.json >/dev/null'),
    inWork('install -m 644 /etc/hosts .npmrc'),
    inWork('printf "%s\\n" "--- a/.npmrc" "+++ b/.npmrc" "@@ -1 +1 @@" "-mine" "+evil" | patch -sp1'),
    // Mounts and namespaces of its own.
    inWork('umount .git/config 2>&1; umount -l .git/config 2>&1; echo evil >> .git/config'),
    inWork('mount -o remount,rw,bind .gantry 2>&1; echo evil > .gantry/policy.yaml'),
    inWork("unshare -Urm sh -c 'umount -l .git/config; echo evil >> .git/config'; echo evil >> .git/config"),
    inWork("unshare -Urm sh -c 'mount -o remount,bind,rw .claude; echo evil > .claude/x'; echo evil > .claude/x"),
    inWork("mkdir m; unshare -Urm sh -c 'mount --bind . m; echo evil >> m/.npmrc'; echo evil >> m/../.npmrc"),
    inWork("mkdir m; unshare -Urm sh -c 'mount --rbind / m; echo evil >> m$PWD/.envrc'; echo evil >> .envrc"),
    inWork('nsenter -t 1 -m sh -c "echo evil >> $PWD/.mcp.json"; echo evil >> .mcp.json'),
    inWork("unshare -Ur chroot /proc/1/root sh -c 'cd '$PWD'; echo evil >> AGENTS.md'; echo evil >> AGENTS.md"),
    // From a worktree: its own folder of git, the common one, the checkout, another bot's.
    inTree('echo "gitdir: /evil" > .git'),
    inTree('rm .git; git init -q .'),
    inTree('mv .git x; mkdir .git'),
    inTree('git config core.fsmonitor evil'),
    inTree(`echo evil > ${work}/.git/hooks/pre-commit`),
    inTree(`echo evil >> ${work}/.git/config`),
    inTree(`echo evil > ${work}/.git/config.worktree`),
    inTree(`echo evil > ${work}/.git/worktrees/dev/config.worktree`),
    inTree(`echo /evil > ${work}/.git/worktrees/dev/commondir`),
    inTree(`echo /evil > ${work}/.git/worktrees/other/commondir`),
    inTree(`echo /evil > ${work}/.git/worktrees/other/gitdir`),
    inTree(`mv ${work}/.git/worktrees/other ${work}/.git/worktrees/gone`),
    inTree(
      `mkdir ${work}/.git/worktrees/new; echo /evil > ${work}/.git/worktrees/new/commondir; touch ${work}/.git/worktrees/new/HEAD`,
    ),
    inTree(`mv ${work}/.git/modules ${work}/.git/x`),
    inTree(`mv ${work}/.git ${work}/x`),
    inTree(`echo evil > ${work}/.gantry/policy.yaml`),
    inTree(`echo evil >> ${work}/AGENTS.md`),
    inTree(`echo evil >> ${other}/.npmrc`),
    inTree(`echo "gitdir: /evil" > ${other}/.git`),
    inTree('echo evil > .npmrc'),
    inTree('mkdir -p new/.claude; echo evil > new/.claude/settings.json'),
    inTree('mv packages x'),
    // In a hurry, at once with itself, and after its end.
    inPlain('for i in $(seq 100); do mkdir -p .claude; echo evil > .claude/settings.json; done'),
    inPlain(
      '(for i in $(seq 100); do rm -rf .mcp.json; echo evil > .mcp.json; done) & for i in $(seq 100); do mv .mcp.json x 2>/dev/null; mv x .mcp.json 2>/dev/null; done; wait; echo evil > .mcp.json',
    ),
    inWork(
      'for i in $(seq 50); do mv packages x; mkdir -p packages/a; echo evil > packages/a/.npmrc; rm -rf y; mv packages y; mv x packages; done; mv packages x; mv y packages',
    ),
    { at: 'plain', line: "setsid -f sh -c 'sleep 0.3; echo evil > .envrc' >/dev/null 2>&1", late: true },
    {
      at: 'plain',
      line: "nohup sh -c 'sleep 0.3; mkdir .codex; echo evil > .codex/config.toml' >/dev/null 2>&1 &",
      late: true,
    },
    { at: 'work', line: "setsid -f sh -c 'sleep 0.3; echo evil >> .git/config' >/dev/null 2>&1", late: true },
  ];
}
