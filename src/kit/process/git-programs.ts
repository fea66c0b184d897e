/**
 * Keeps git from running programs that a repository's own settings name: a folder from somebody else brings its own `.git/config`. Settings of the
 * person and of the system count; those of the repository, its worktrees and their includes are replaced. Pure: the caller reads the settings from
 * git. Must not know what git is called for.
 */

/** Arguments with which git lists its settings and their sources. Runs nothing. */
export const listSettings = ['config', '--list', '--show-scope', '-z'] as const;

/** A setting that names a program (git-config(1), git-lfs-config(5)), and its replacement. */
const kinds: readonly (readonly [key: RegExp, instead: string])[] = [
  // With `required`, below, git refuses a file that it cannot filter. Unfiltered, a secret could be committed in clear.
  [/^filter\..*\.(?:clean|smudge|process)$/s, ''],
  // As git itself merges text.
  [/^merge\..*\.driver$/s, 'git merge-file --marker-size=%L %A %O %B'],
  [/^diff\.external$|^diff\..*\.(?:command|textconv)$/s, ''],
  [/^gpg\.(?:.*\.)?program$|^gpg\.ssh\.defaultkeycommand$/s, 'false'],
  [/^core\.alternaterefscommand$/, 'true'],
  // Objects that are missing may be fetched while git looks at others.
  [/^core\.sshcommand$/, 'ssh'],
  [/^credential\.(?:.*\.)?helper$/s, ''],
  [/^remote\..*\.uploadpack$/s, 'git-upload-pack'],
  [/^remote\..*\.receivepack$/s, 'git-receive-pack'],
  [/^remote\..*\.vcs$/s, ''],
  [/^lfs\.extension\..*\.(?:clean|smudge)$|^lfs\.customtransfer\..*\.path$|^lfs\.standalonetransferagent$/s, ''],
];

interface Replaced {
  /** For git: the replaced settings. */
  readonly env: Readonly<Record<string, string>>;
  /** Keys that only the repository names, such as `filter.crypt.clean`. */
  readonly names: readonly string[];
}

/** `printed`: git's output for {@link listSettings}. */
export function replacePrograms(printed: string): Replaced {
  const parts = printed.split('\0');
  const outer = new Map<string, string[]>();
  const own = new Map<string, string>();
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [key = '', ...lines] = parts[at + 1]!.split('\n');
    const instead = kinds.find(([kind]) => kind.test(key))?.[1];
    if (instead === undefined) continue;
    if (parts[at] === 'local' || parts[at] === 'worktree') own.set(key, instead);
    else outer.set(key, [...(outer.get(key) ?? []), lines.join('\n')]);
  }
  const pairs = [...own].flatMap(([key, instead]): [string, string][] => {
    const filter = /^filter\..*\./s.exec(key)?.[0];
    return [
      [key, instead],
      ...(outer.get(key) ?? []).map((value): [string, string] => [key, value]),
      ...(filter === undefined ? [] : [[`${filter}required`, 'true'] as [string, string]]),
    ];
  });
  // Not as `-c key=value`: a key may contain an equals sign.
  const env = Object.fromEntries(
    pairs.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  );
  return {
    env: pairs.length === 0 ? {} : { ...env, GIT_CONFIG_COUNT: String(pairs.length) },
    names: [...own.keys()].filter((key) => !outer.has(key)),
  };
}
